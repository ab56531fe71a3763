/**
 * The contract of the durable Raft log, declared by the driver that needs it (`raft/node.ts`).
 * `durable-log.ts` is its form on disk; one suite in `test/raft/storage` holds for every form.
 */
import type { Entry, HardState, LogIndex, SnapshotMeta, Term } from '../core/message.ts'
import type { TermRun } from '../core/term-runs.ts'

/** One unit of work for the disk, in the order the core asked for it. */
export type LogWrite = {
  /** Entries from this index on are void before `entries` are added; null: nothing is cut. */
  readonly truncateFrom: LogIndex | null
  /** Consecutive, starting right after what is then the last entry. */
  readonly entries: readonly Entry[]
  readonly hardState: HardState | null
}

/** What a restart finds. */
export type RecoveredLog = {
  readonly hardState: HardState
  /** The state the log builds on: everything up to and including `snapshot.index` is no longer in the log. Index 0: a new log. */
  readonly snapshot: SnapshotMeta
  readonly lastIndex: LogIndex
  /** Terms of all entries after `snapshot.index`, ascending. Empty when there are none. */
  readonly termRuns: readonly TermRun[]
  /** The configuration entries still in the log, ascending: the newest is in force. */
  readonly configurations: readonly Entry[]
  /** The newest entries, consecutive up to `lastIndex`, at most a few MiB of them: what followers will ask for first. */
  readonly tail: readonly Entry[]
}

/**
 * Kept outside of the log's folder: whether a log was ever written to there. A server whose log is gone knows its votes and
 * what it acknowledged no more, and an empty one under its id could undo both.
 */
export type LogMark = {
  readonly isSet: boolean
  /** Durable when it resolves. */
  set(): Promise<void>
}

export interface LogStore {
  /**
   * Makes all writes durable with one sync, in order. Resolves only after the sync.
   * Not called again before it resolved. A rejection is final: the disk's state is unknown, the process must stop.
   */
  write(writes: readonly LogWrite[]): Promise<void>

  /**
   * Entries from `from` on, at most to `to` (inclusive), at least one, then as many as fit `bytesMax` of data.
   * Throws MusterError `corrupt` if a record does not check, and an assertion if the range is not in the log.
   */
  read(from: LogIndex, to: LogIndex, bytesMax: number): Promise<readonly Entry[]>

  /**
   * The state machine is durable at `snapshot.index`: entries up to there may go, in whole segments.
   * Keeps at least what the retention settings say, so the first index left may be lower than asked.
   * Resolves to the new base: what `RecoveredLog.snapshot` would be after a restart.
   */
  compact(
    snapshot: SnapshotMeta,
  ): Promise<{ readonly baseIndex: LogIndex; readonly baseTerm: Term }>

  /** A snapshot replaced the state: the whole log is void and goes on at `snapshot.index + 1`. Durable when it resolves. */
  reset(snapshot: SnapshotMeta, hardState: HardState): Promise<void>

  /** Bytes and segments on disk, for status and metrics. */
  stats(): { readonly bytes: number; readonly segments: number; readonly firstIndex: LogIndex }

  close(): Promise<void>
}
