/**
 * To the leader, wherever it is: here, or one hop away with what is left of the caller's time.
 *
 * What surely did nothing (`not_leader`, no connection) is tried again, for leaders change. What may have taken effect
 * (`outcome_unknown`) is not, or a write could apply twice; but of a method that is `repeatable` this server's own state
 * soon says what became of it (`sent-writes.ts`): then it is tried again or answered from here.
 */
import { firstOf, nothing } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import type { Consensus, LeaderInfo } from './consensus.ts'
import type { CallRequest, PeerLink } from './link.ts'
import type { Caller } from './method.ts'
import type { AppliedParts, SentWrite, SentWrites } from './sent-writes.ts'

export type ForwarderOptions = {
  readonly consensus: Consensus
  readonly link: PeerLink
  /** null: what is sent and not answered stays unknown. */
  readonly sent: SentWrites | null
  readonly clock: Clock
  /** How long a request waits for a leader that can be reached. */
  readonly noLeaderMs: number
}

export type ForwardedCall = {
  readonly method: string
  readonly args: unknown
  readonly caller: Caller
  /** Monotonic. */
  readonly deadlineMs: number
  readonly signal: AbortSignal
  /** Runs the method on this server, which leads. */
  here(): Promise<unknown>
  /** Whether it may be sent again; false: `replay` is never called. */
  readonly repeatable: boolean
  /** Answers here for what took effect elsewhere. */
  replay?(parts: AppliedParts): Promise<unknown>
  /** `forwarded` becomes true when the leader is asked elsewhere. */
  readonly trace?: { forwarded: boolean } | null
}

/** Pauses between tries: short, for an election takes a fraction of a second. */
const retryPauseMs = { first: 10, max: 200 }

export class Forwarder {
  readonly #options: ForwarderOptions

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  /**
   * Rejects with what the method rejected with, or `no_leader`, `unavailable`, `timeout`, `cancelled`. `failed`: how it ended here,
   * where it was tried already.
   */
  async run(call: ForwardedCall, failed: unknown = null): Promise<unknown> {
    const { consensus, clock, noLeaderMs } = this.#options
    let pauseMs = retryPauseMs.first
    let giveUpMs: number | null = null
    for (let tries = 0; ; tries += 1) {
      let failure: unknown
      let asked: LeaderInfo | null = null
      try {
        if (tries === 0 && failed !== null) throw failed
        // Not `return await` for nothing: a refusal must be caught here.
        if (consensus.isLeader()) return await call.here()
        asked = consensus.leader()
        if (asked !== null) return await this.#ask(asked, call)
      } catch (error) {
        const code = codeOf(error)
        if (code !== 'not_leader' && !(code === 'unavailable' && !consensus.isLeader())) throw error
        failure = error
      }
      const nowMs = clock.monotonicMs()
      giveUpMs ??= Math.min(call.deadlineMs, nowMs + noLeaderMs)
      if (nowMs >= giveUpMs) throw gaveUp(failure, noLeaderMs)
      if (failure === undefined) {
        await this.#waitForLeader(giveUpMs, call.signal)
      } else if (asked === null ? consensus.isLeader() : consensus.leader()?.id === asked.id) {
        // What this server believes about the leader is old: it looks again when that changes, or shortly.
        await this.#pauseUntilNews(Math.min(pauseMs, giveUpMs - nowMs), call.signal)
        pauseMs = Math.min(pauseMs * 2, retryPauseMs.max)
      }
    }
  }

  /**
   * A call for the leader reached this server, which leads and takes no calls for a moment, see `isSettling`: resolves once it
   * does, or another server leads, or at the deadline (monotonic ms). Null: there is nothing to wait for.
   */
  settled(deadlineMs: number, signal: AbortSignal): Promise<void> | null {
    return this.#options.consensus.isSettling() ? this.#settled(deadlineMs, signal) : null
  }

  async #settled(deadlineMs: number, signal: AbortSignal): Promise<void> {
    const { consensus, clock, noLeaderMs } = this.#options
    const untilMs = Math.min(deadlineMs, clock.monotonicMs() + noLeaderMs)
    while (consensus.isSettling()) {
      const leftMs = untilMs - clock.monotonicMs()
      if (leftMs <= 0) return
      await this.#pauseUntilNews(leftMs, signal)
    }
  }

  async #ask(leader: LeaderInfo, call: ForwardedCall): Promise<unknown> {
    const write = !call.repeatable ? null : (this.#options.sent?.begin() ?? null)
    if (write === null) return this.#send(leader, call, {})
    try {
      const { term } = leader
      return await this.#send(leader, call, { write: { name: write.name, term } })
    } catch (error) {
      if (codeOf(error) !== 'outcome_unknown') throw error
      return await this.#settle(write, leader, call, error)
    } finally {
      write.end()
    }
  }

  /** Answers a write that was not answered, if it took effect. Rejects with `not_leader` if it surely did not. */
  async #settle(
    write: SentWrite,
    leader: LeaderInfo,
    call: ForwardedCall,
    failure: unknown,
  ): Promise<unknown> {
    const { clock, noLeaderMs } = this.#options
    const deadlineMs = Math.min(call.deadlineMs, clock.monotonicMs() + noLeaderMs)
    const fate = await write.fate(leader.term, deadlineMs, call.signal)
    if (fate.type === 'applied' && call.replay !== undefined) return call.replay(fate.parts)
    if (fate.type !== 'void') throw failure
    const text = `${leader.name} leads no more, and the request took no effect there`
    throw new MusterError('not_leader', text, { cause: failure })
  }

  #send(
    leader: LeaderInfo,
    call: ForwardedCall,
    more: Pick<CallRequest, 'write'>,
  ): Promise<unknown> {
    const { link, clock } = this.#options
    const timeoutMs = Math.floor(call.deadlineMs - clock.monotonicMs())
    if (timeoutMs <= 0) {
      throw new MusterError('timeout', 'deadline exceeded before the request was forwarded')
    }
    if (call.trace) call.trace.forwarded = true
    const { token, remote, requestId, use } = call.caller
    const { method, args } = call
    return link.call(
      { address: leader.address, id: leader.id },
      {
        method,
        args,
        token,
        remote,
        requestId,
        use: use === true,
        timeoutMs,
        atLeader: true,
        ...more,
      },
      call.signal,
    )
  }

  /** Ends early when leadership changes. Rejects with `cancelled`. */
  #pauseUntilNews(delayMs: number, signal: AbortSignal): Promise<void> {
    const { clock, consensus } = this.#options
    const listen = (found: () => void) => consensus.onceChanged(found)
    return firstOf({ clock, ms: delayMs, signal, listen, timeout: nothing })
  }

  async #waitForLeader(giveUpMs: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.consensus.waitForLeader(giveUpMs, signal)
    } catch (error) {
      throw codeOf(error) === 'no_leader' ? noLeader(this.#options.noLeaderMs, error) : error
    }
  }
}

function gaveUp(failure: unknown, noLeaderMs: number): unknown {
  return failure !== undefined && codeOf(failure) === 'unavailable'
    ? failure
    : noLeader(noLeaderMs, failure)
}

/** The refusal of a request that found no leader in its time. */
export function noLeader(waitedMs: number, cause: unknown): MusterError {
  const because = cause === undefined ? '' : ` (${textOf(cause)})`
  return new MusterError('no_leader', `no cluster leader after ${waitedMs} ms${because}`, { cause })
}
