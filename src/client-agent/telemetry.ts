/** Joins the metrics of a client agent with the parts that they tell of. */
import { ProcessTelemetry } from '../runtime/telemetry.ts'
import { gossipMetrics, type GossipNumbers } from '../metrics/gossip.ts'
import {
  answerMetrics,
  type AuditCounts,
  auditMetrics,
  limitMetrics,
  type RefusedSource,
} from '../metrics/limits.ts'

export type Measured = {
  readonly http: { readonly refused: RefusedSource; readonly answerBytes: number }
  readonly monitors: { readonly refusedCount: number }
  readonly dispatcher: { readonly refused: { readonly streams: number } }
  readonly audit: { readonly counts: AuditCounts }
  readonly gossip: { counters(): GossipNumbers }
}

export class ClientTelemetry extends ProcessTelemetry {
  start({ http, audit, monitors, dispatcher, gossip }: Measured): void {
    this.begin(() => {
      limitMetrics(this.metrics, () => ({
        ...http.refused,
        streams: dispatcher.refused.streams,
        log_streams: monitors.refusedCount,
      }))
      answerMetrics(this.metrics, () => http.answerBytes)
      auditMetrics(this.metrics, () => audit.counts)
      gossipMetrics(this.metrics, () => gossip.counters())
      return []
    })
  }
}
