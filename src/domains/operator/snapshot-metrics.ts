/** Scheduled snapshots: whether there is a fresh backup. */
import type { Metrics } from '../../metrics/metrics.ts'
import type { ScheduledSnapshots } from './scheduled-snapshots.ts'

export function snapshotMetrics(
  metrics: Metrics,
  scheduled: Pick<ScheduledSnapshots, 'everyMs' | 'stats'>,
): void {
  metrics.gauge(
    'muster_snapshot_interval_seconds',
    'From one scheduled snapshot to the next',
    () => scheduled.everyMs / 1_000,
  )
  metrics.counter(
    'muster_snapshots_saved_total',
    'Scheduled snapshots that were saved',
    () => scheduled.stats.saved,
  )
  metrics.counter(
    'muster_snapshots_failed_total',
    'Attempts at a scheduled snapshot that failed',
    () => scheduled.stats.failed,
  )
  metrics.gauge(
    'muster_snapshot_newest_timestamp_seconds',
    'When the newest scheduled snapshot was made, in seconds since 1970; 0: there is none',
    () => (scheduled.stats.newest?.createdMs ?? 0) / 1_000,
  )
  metrics.gauge(
    'muster_snapshot_newest_bytes',
    'Size of the newest scheduled snapshot',
    () => scheduled.stats.newest?.bytes ?? 0,
  )
}
