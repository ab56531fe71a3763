/**
 * Renewals at the leader, many in one log entry: those that come within a short time wait for one another. The first
 * after a quiet time goes at once. Each is acknowledged when its entry is committed, which only a leader that still
 * leads can bring about.
 */
import type { Clock, Timer } from '../../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../../lib/errors.ts'
import type { Propose } from '../../rpc/write.ts'
import { renewSessions, renewedMax, type RenewSessions } from './commands.ts'
import { stretchMax, type SessionPlace, type SessionRow } from './model.ts'

/** Between two entries of renewals. */
export const batchMs = 100
/** Above this many renewals per second, for about `averageMs`, sessions are told to renew less often. */
const renewalsPerSecondMax = 5_000
const averageMs = 1_000
/** Sessions whose renewals wait for an entry; beyond it they are refused. */
const waitingMax = 200_000

/** `row`: null when there is no such session. It lives for `stretch` times its time to live. */
export type Renewed = { readonly row: SessionRow | null; readonly stretch: number }

type Waiting = {
  readonly place: SessionPlace
  readonly settle: {
    readonly resolve: (renewed: Renewed) => void
    readonly reject: (error: unknown) => void
  }[]
}

export class Renewals {
  readonly #clock: Clock
  #propose: Propose | null = null
  #waiting = new Map<string, Waiting>()
  /** By id: entries that renew it and are not applied yet. */
  readonly #underWay = new Map<string, number>()
  #timer: Timer | null = null
  #lastMs = -Infinity
  #perSecond = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** From now on this server leads. */
  open(propose: Propose): void {
    this.#propose = propose
  }

  /** It leads no longer: what still waits is to be asked of another. */
  close(): void {
    this.#propose = null
    this.#timer?.cancel()
    this.#timer = null
    const waiting = this.#waiting
    this.#waiting = new Map()
    for (const { settle } of waiting.values()) {
      for (const { reject } of settle) reject(notLeading())
    }
  }

  /** Whether it may be renewed by what waits or is on its way into the log: then it must not be ended. */
  isPending(id: string): boolean {
    return this.#waiting.has(id) || this.#underWay.has(id)
  }

  /** Rejects with `not_leader` (to be tried again: a renewal does no harm twice) or `overloaded`. */
  renew(place: SessionPlace): Promise<Renewed> {
    if (this.#propose === null) return Promise.reject(notLeading())
    if (this.#waiting.size >= waitingMax) {
      return Promise.reject(
        new MusterError('overloaded', `${waitingMax} renewals wait here already, try later`),
      )
    }
    return new Promise((resolve, reject) => {
      // One id in two namespaces: ids are unique, so one of them is nobody's, and is told so by its own entry.
      const name = `${place.id} ${place.namespace}`
      const known = this.#waiting.get(place.id)
      if (known !== undefined && known.place.namespace === place.namespace) {
        known.settle.push({ resolve, reject })
      } else {
        const key = known === undefined ? place.id : name
        this.#waiting.set(key, { place, settle: [{ resolve, reject }] })
      }
      this.#flushLater()
    })
  }

  #flushLater(): void {
    if (this.#timer !== null) return
    const waitMs = Math.max(0, this.#lastMs + batchMs - this.#clock.monotonicMs())
    this.#timer = this.#clock.setTimer(waitMs, () => {
      this.#timer = null
      this.#flush()
    })
  }

  #flush(): void {
    const propose = this.#propose
    if (propose === null) return
    const waiting = [...this.#waiting.values()]
    this.#waiting = new Map()
    const nowMs = this.#clock.monotonicMs()
    const stretch = this.#stretch(waiting.length, nowMs - this.#lastMs)
    this.#lastMs = nowMs
    for (let start = 0; start < waiting.length; start += renewedMax) {
      void this.#run(propose, waiting.slice(start, start + renewedMax), stretch)
    }
  }

  /** By how much lives are lengthened, so that fewer renewals come: by the average, for a burst is no load. */
  #stretch(count: number, elapsedMs: number): number {
    const perSecond = (count * 1_000) / Math.max(batchMs, elapsedMs)
    this.#perSecond += (perSecond - this.#perSecond) * Math.min(1, elapsedMs / averageMs)
    const times = Math.ceil(this.#perSecond / renewalsPerSecondMax)
    return Math.min(stretchMax, Math.max(1, times))
  }

  async #run(propose: Propose, batch: readonly Waiting[], stretch: number): Promise<void> {
    const places = batch.map(({ place }) => place)
    for (const { id } of places) this.#underWay.set(id, (this.#underWay.get(id) ?? 0) + 1)
    const args: RenewSessions = { places, stretch }
    try {
      const { outcome } = await propose(renewSessions, args)
      const { renewed } = outcome
      for (const [position, { settle }] of batch.entries()) {
        const row = renewed[position] ?? null
        for (const { resolve } of settle) resolve({ row, stretch })
      }
    } catch (error) {
      const again = codeOf(error) === 'overloaded' ? error : notLeading(error)
      for (const { settle } of batch) for (const { reject } of settle) reject(again)
    } finally {
      for (const { id } of places) {
        const left = (this.#underWay.get(id) ?? 1) - 1
        if (left === 0) this.#underWay.delete(id)
        else this.#underWay.set(id, left)
      }
    }
  }
}

function notLeading(cause?: unknown): MusterError {
  const reason = cause === undefined ? '' : `: ${textOf(cause)}`
  return new MusterError('not_leader', `the renewal was not confirmed here${reason}`, { cause })
}
