/**
 * What the core asks of the world after it took its inputs. The type carries the safety order:
 * `send` may leave at once; `persist.afterwards` leaves only when that write, and every one before it, is on disk.
 */
import type { Entry, HardState, LogIndex, Message, ServerId, SnapshotMeta } from './message.ts'

/** One unit of work for the disk. Units are made durable in the order they were given, many at a time if need be. */
export type Persist = {
  /** Ascending; handed back with `persisted` when this unit and all before it are durable. */
  readonly sequence: number
  readonly write: {
    readonly truncateFrom: LogIndex | null
    readonly entries: readonly Entry[]
    readonly hardState: HardState | null
  }
  /** Promises that rest on the write: votes, acknowledgements of entries. */
  readonly afterwards: readonly Message[]
}

/** Entries that a follower needs and the core no longer has in memory; answered with `fetched`. */
export type Fetch = {
  readonly peer: ServerId
  readonly from: LogIndex
  readonly to: LogIndex
}

/** A follower whose log has less than it acknowledged, in the same term: it was set back, or its disk forgot. */
export type Forgetful = {
  readonly peer: ServerId
  readonly acknowledged: LogIndex
  /** What it may still hold. */
  readonly left: LogIndex
}

export const forgetfulText =
  'a server has fewer entries than it had acknowledged: its data was set back, and what it promised may be lost'

/** The answer to a read: the index to wait for, or null: ask again, for this server cannot know. */
export type ReadResult = { readonly id: number; readonly index: LogIndex | null }

export type Ready = {
  readonly send: readonly Message[]
  readonly persist: Persist | null
  readonly reads: readonly ReadResult[]
  readonly fetches: readonly Fetch[]
  /** Followers that need a snapshot; answered with `snapshotSent`. */
  readonly snapshots: readonly ServerId[]
  /** For the operator: what was promised may be lost. */
  readonly forgetful: readonly Forgetful[]
  /** A received snapshot that must replace the state now; answered with `snapshotInstalled`. */
  readonly install: SnapshotMeta | null
}
