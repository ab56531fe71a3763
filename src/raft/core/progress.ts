/**
 * The leader's view of one follower's log.
 *
 *   probe:     where the logs meet is not known; one AppendRequest at a time.
 *   replicate: they meet; entries are sent ahead of their acknowledgement, within a window.
 *   snapshot:  what the follower needs is compacted; nothing is appended until it holds a snapshot.
 *
 * Invariants: `match < next`; in `replicate`, everything in [match + 1, next - 1] is in flight.
 */
import { assert } from '../../lib/assert.ts'
import type { LogIndex } from './message.ts'

/** What the owner may know of a follower. */
export type FollowerProgress = {
  readonly match: LogIndex
  readonly state: 'probe' | 'replicate' | 'snapshot'
  readonly lastContact: number
}

export type ProgressState = 'probe' | 'replicate' | 'snapshot'

type Inflight = { readonly lastIndex: LogIndex; readonly bytes: number }

export class Progress {
  state: ProgressState = 'probe'
  /** Highest index known to be durable on the follower. */
  match: LogIndex = 0
  /** The leader's round when `match` was learned: what it sends in later ones has left after that. */
  matchRound = 0
  /** Next index to send. */
  next: LogIndex
  /** In `probe`: a request is out and unanswered. */
  probing = false
  /** The leader's round when that request left. */
  probedRound = 0
  /** Entries are being read from disk for this follower. */
  fetching = false
  /** No snapshot is offered before this time, in the core's: the last ones failed, so many in a row. */
  snapshotNotBefore = 0
  snapshotFailures = 0
  /** Whether it follows a commit index as high as this; avoids telling it twice. */
  toldCommit: LogIndex = 0
  /** When it last answered anything, in the core's time. */
  lastContact: number
  /** Highest round it answered. */
  ackedRound = 0
  /** Until then, by its own word, it elects no other server, after allowing for clocks that run differently. */
  leaseUntil = 0
  /** How many such answers the leader had from all followers then: the first to answer a round has fewer. */
  ackedOrder = 0
  #inflight: Inflight[] = []
  #inflightBytes = 0

  constructor(next: LogIndex, now: number) {
    this.next = next
    this.lastContact = now
  }

  becomeProbe(next: LogIndex): void {
    this.state = 'probe'
    this.next = Math.max(next, this.match + 1)
    this.probing = false
    this.#clearInflight()
  }

  /** `match`: at least so much is durable on the follower. */
  becomeReplicate(match = this.match): void {
    this.state = 'replicate'
    this.match = match
    this.next = this.match + 1
    this.probing = false
    this.#clearInflight()
  }

  becomeSnapshot(): void {
    this.state = 'snapshot'
    this.probing = false
    this.#clearInflight()
  }

  /** Its log lost what it had acknowledged: it is asked for everything anew. */
  becomeUnknown(): void {
    this.match = 0
    this.matchRound = 0
    this.toldCommit = 0
  }

  /** The follower holds everything up to `index`. False when that was known. `round`: the leader's present one. */
  acknowledged(index: LogIndex, round: number): boolean {
    while ((this.#inflight[0]?.lastIndex ?? Infinity) <= index) {
      this.#inflightBytes -= this.#inflight.shift()?.bytes ?? 0
    }
    if (index <= this.match) return false
    this.match = index
    this.matchRound = round
    this.next = Math.max(this.next, index + 1)
    return true
  }

  /** `round`: the leader's present one. */
  probed(round: number): void {
    this.probing = true
    this.probedRound = round
  }

  sent(lastIndex: LogIndex, bytes: number): void {
    assert(lastIndex >= this.next, 'what is sent is new')
    if (this.state === 'probe') return
    this.next = lastIndex + 1
    this.#inflight.push({ lastIndex, bytes })
    this.#inflightBytes += bytes
  }

  /** A heartbeat of a later round than the probe was answered first: the probe or its answer may be lost. */
  outlived(round: number): void {
    if (round > this.probedRound) this.probing = false
  }

  mayAppend(limits: { inflightMessagesMax: number; inflightBytesMax: number }): boolean {
    if (this.fetching) return false
    switch (this.state) {
      case 'snapshot':
        return false
      case 'probe':
        return !this.probing
      case 'replicate':
        return (
          this.#inflight.length < limits.inflightMessagesMax &&
          this.#inflightBytes < limits.inflightBytesMax
        )
    }
  }

  #clearInflight(): void {
    this.#inflight = []
    this.#inflightBytes = 0
    this.fetching = false
  }
}
