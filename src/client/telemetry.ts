/** Joins the metrics of a client agent with the parts that they tell of. */
import { ProcessTelemetry } from '../member/telemetry.ts'
import { gossipMetrics, type GossipNumbers } from '../metrics/gossip.ts'
import { limitMetrics, type RefusedSource } from '../metrics/limits.ts'

export type Measured = {
  readonly http: { readonly refused: RefusedSource }
  readonly gossip: { counters(): GossipNumbers }
}

export class ClientTelemetry extends ProcessTelemetry {
  start({ http, gossip }: Measured): void {
    this.begin(() => {
      limitMetrics(this.metrics, () => http.refused)
      gossipMetrics(this.metrics, () => gossip.counters())
      return []
    })
  }
}
