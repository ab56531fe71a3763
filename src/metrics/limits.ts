/** What one client asked too much, and what became of the audit log's lines. */
import type { Metrics } from './metrics.ts'

/** `api/server.ts` fits. */
export type RefusedSource = {
  readonly rate: number
  readonly concurrency: number
  readonly connections: number
  readonly bodies: number
}

/** `member/audit.ts` fits. */
export type AuditCounts = {
  readonly written: number
  readonly dropped: number
  readonly failedWrites: number
  readonly waiting: number
}

export function limitMetrics(metrics: Metrics, refused: () => RefusedSource): void {
  metrics.counters({
    name: 'muster_http_limited_total',
    help: 'Requests and connections refused because there were too many, by limit',
    labelNames: ['limit'],
    read: () => {
      const counts = refused()
      return (['rate', 'concurrency', 'connections', 'bodies'] as const).map((limit) => ({
        labels: { limit },
        value: counts[limit],
      }))
    },
  })
}

export function auditMetrics(metrics: Metrics, counts: () => AuditCounts): void {
  const counters = [
    ['lines', 'Lines written to the audit log', 'written'],
    ['dropped', 'Lines of the audit log that were dropped', 'dropped'],
    ['write_failures', 'Writes to the audit log that the disk refused', 'failedWrites'],
  ] as const
  for (const [name, help, member] of counters) {
    metrics.counter(`muster_audit_${name}_total`, help, () => counts()[member])
  }
  metrics.gauge(
    'muster_audit_queue_length',
    'Lines of the audit log that wait for the disk',
    () => counts().waiting,
  )
}
