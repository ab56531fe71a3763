/** What an operator's methods and routes use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { ConsulSaver } from './consul-saver.ts'
import type { RaftControl } from './raft.ts'
import type { Restorer } from './restore.ts'
import type { ScheduledSnapshots, SnapshotSchedule } from './scheduled-snapshots.ts'

/** The rows of one state, in blocks. `fsm/archive.ts` has its form. */
export type RowSource = {
  readonly index: number
  readonly rows: number
  readonly digest: string
  blocks(): AsyncIterable<Uint8Array>
  close(): void
}

/** `server/telemetry.ts` has its form. */
export type MetricsSource = {
  /** Plain data. */
  document(): object
  text(): Promise<{ readonly type: string; readonly text: string }>
}

/** Provided by the server. */
export const raftControl = serviceKey<RaftControl>('operator.raft')

/** Provided by the server: what archives are made of, and where they pass. */
export const archiving = serviceKey<{
  /** `machine.exportRows` */
  readonly exportRows: () => RowSource
  /** `machine.commandVersion` */
  readonly commandVersion: () => number
  /** Of the server's clock. */
  readonly wallMs: () => number
  /** For archives on their way in and out. */
  readonly folder: string
  /** Null: none but those that clients ask for. */
  readonly schedule: SnapshotSchedule | null
}>('operator.archiving')

/** Provided by the server: of its program, and of itself. */
export const thisServer = serviceKey<{ version(): string; leads(): boolean }>('operator.thisServer')

/** Provided by every process. */
export const metricsSource = serviceKey<MetricsSource>('operator.metrics')

export const restorer = serviceKey<Restorer>('operator.restorer')
export const consulSaver = serviceKey<ConsulSaver>('operator.consulSaver')
/** Null: no schedule. */
export const scheduledSnapshots = serviceKey<ScheduledSnapshots | null>('operator.snapshots')
