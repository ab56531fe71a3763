/**
 * To the leader, wherever it is: here, or one hop away with what is left of the caller's time.
 *
 * What surely did nothing (`not_leader`, no connection) is tried again, for leaders change; what may have taken effect
 * (`outcome_unknown`) never is, or a write could apply twice.
 */
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import type { Consensus, LeaderInfo } from './consensus.ts'
import type { PeerLink } from './link.ts'
import type { Caller } from './method.ts'

export type ForwarderOptions = {
  readonly consensus: Consensus
  readonly link: PeerLink
  readonly clock: Clock
  /** How long a request waits for a leader that can be reached. */
  readonly noLeaderMs: number
}

export type LeaderCall = {
  readonly method: string
  readonly args: unknown
  readonly caller: Caller
  /** Monotonic. */
  readonly deadlineMs: number
  readonly signal: AbortSignal
  /** Runs the method on this server, which leads. */
  readonly here: () => Promise<unknown>
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

  /** Rejects with what the method rejected with, or `no_leader`, `unavailable`, `timeout`, `cancelled`. */
  async run(call: LeaderCall): Promise<unknown> {
    const { consensus, clock, noLeaderMs } = this.#options
    let pauseMs = retryPauseMs.first
    let giveUpMs: number | null = null
    for (;;) {
      let failure: unknown
      try {
        // Not `return await` for nothing: a refusal must be caught here.
        if (consensus.isLeader()) return await call.here()
        const leader = consensus.leader()
        if (leader !== null) return await this.#ask(leader, call)
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
      } else {
        // What this server believes about the leader may be old: look again shortly.
        await pause(clock, Math.min(pauseMs, giveUpMs - nowMs), call.signal)
        pauseMs = Math.min(pauseMs * 2, retryPauseMs.max)
      }
    }
  }

  #ask(leader: LeaderInfo, call: LeaderCall): Promise<unknown> {
    const { link, clock } = this.#options
    const timeoutMs = Math.floor(call.deadlineMs - clock.monotonicMs())
    if (timeoutMs <= 0) {
      throw new MusterError('timeout', 'the time was up before the leader could be asked')
    }
    if (call.trace) call.trace.forwarded = true
    const { token, remote, requestId } = call.caller
    return link.call(
      { address: leader.address, id: leader.id },
      { method: call.method, args: call.args, token, remote, requestId, timeoutMs, atLeader: true },
      call.signal,
    )
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

function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancelled = () => {
      timer.cancel()
      reject(new MusterError('cancelled', 'the caller went away'))
    }
    const timer = clock.setTimer(Math.max(0, delayMs), () => {
      signal.removeEventListener('abort', cancelled)
      resolve()
    })
    if (signal.aborted) cancelled()
    else signal.addEventListener('abort', cancelled, { once: true })
  })
}
