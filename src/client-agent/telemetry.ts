/** Joins the metrics of a client agent with the parts that they tell of. */
import type { Composed } from '../domains/domain.ts'
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
  readonly domains: Pick<Composed, 'measure' | 'refused'>
  readonly dispatcher: { readonly refused: { readonly streams: number } }
  readonly audit: { readonly counts: AuditCounts }
  readonly gossip: { counters(): GossipNumbers }
}

export class ClientTelemetry extends ProcessTelemetry {
  start({ http, audit, domains, dispatcher, gossip }: Measured): void {
    this.begin(() => {
      domains.measure(this.metrics)
      limitMetrics(this.metrics, () => ({
        ...http.refused,
        ...dispatcher.refused,
        ...domains.refused(),
      }))
      answerMetrics(this.metrics, () => http.answerBytes)
      auditMetrics(this.metrics, () => audit.counts)
      gossipMetrics(this.metrics, () => gossip.counters())
      return []
    })
  }
}
