/** What was refused because there was too much of it, and what became of the audit log's lines. */
import type { Metrics } from './metrics.ts'

/** Refused so far, by the value of the label `limit`. A process tells of the limits that it has. */
export type RefusedSource = Readonly<Record<string, number>>

/** `runtime/audit.ts` fits. */
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
    read: () => Object.entries(refused()).map(([limit, value]) => ({ labels: { limit }, value })),
  })
}

export function answerMetrics(metrics: Metrics, bytes: () => number): void {
  metrics.gauge('muster_http_answer_bytes', 'Bytes of answers that clients have not taken', bytes)
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
