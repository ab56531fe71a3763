/** Scheduled snapshots: whether there is a fresh backup. */
import type { Metrics } from './metrics.ts'

/** `domains/operator/scheduled-snapshots.ts` fits. */
export type SnapshotNumbers = {
  readonly saved: number
  readonly failed: number
  readonly newest: { readonly createdMs: number; readonly bytes: number } | null
}

export function snapshotMetrics(
  metrics: Metrics,
  intervalMs: number,
  stats: () => SnapshotNumbers,
): void {
  metrics.gauge(
    'muster_snapshot_interval_seconds',
    'From one scheduled snapshot to the next',
    () => intervalMs / 1_000,
  )
  metrics.counter(
    'muster_snapshots_saved_total',
    'Scheduled snapshots that were saved',
    () => stats().saved,
  )
  metrics.counter(
    'muster_snapshots_failed_total',
    'Attempts at a scheduled snapshot that failed',
    () => stats().failed,
  )
  metrics.gauge(
    'muster_snapshot_newest_timestamp_seconds',
    'When the newest scheduled snapshot was made, in seconds since 1970; 0: there is none',
    () => (stats().newest?.createdMs ?? 0) / 1_000,
  )
  metrics.gauge(
    'muster_snapshot_newest_bytes',
    'Size of the newest scheduled snapshot',
    () => stats().newest?.bytes ?? 0,
  )
}
