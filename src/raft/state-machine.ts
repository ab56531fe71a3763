/**
 * What the Raft driver needs of a state machine. `fsm/machine.ts` is its form; the simulator has a small fake.
 */
import type { Entry, LogIndex, SnapshotMeta } from './core/message.ts'
import type { SnapshotSink, SnapshotSource } from './transport/transport.ts'

export interface StateMachine {
  /** Index of the last entry whose effects are in the state, 0 for an empty one. Survives a restart with the state. */
  readonly appliedIndex: LogIndex

  /** Index of the snapshot that was installed last, 0 for none; tells a crash in the middle of an install from a damaged log. */
  readonly installedIndex: LogIndex

  /**
   * Applies committed entries in order, each exactly once, and writes them atomically with the new applied index.
   * `entries` are consecutive from `appliedIndex + 1`; noops and configurations are among them
   * (their only effect is the applied index and, for configurations, the stored configuration).
   * Resolves to one outcome per entry once they are visible to readers. Not called again before it resolved.
   */
  apply(entries: readonly Entry[]): Promise<readonly unknown[]>

  /** Makes the applied state durable. Resolves to the index it is durable at, with that index's term and configuration. */
  flush(): Promise<SnapshotMeta>

  /** A consistent picture of the state now, without stopping writes. The caller closes it. */
  snapshot(): Promise<SnapshotSource>

  /** Where an arriving snapshot is staged; goes on within the same id, starts over with another. */
  stage(id: string, meta: SnapshotMeta): Promise<SnapshotSink>

  /** Puts the finished staged snapshot in place of the state, atomically and durably. Wakes every reader. */
  install(meta: SnapshotMeta): Promise<void>

  close(): Promise<void>
}

/** Re-exported so that implementers need one import. */
export type { Entry, LogIndex, SnapshotMeta, SnapshotSink, SnapshotSource }
