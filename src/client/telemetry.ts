/** Joins the metrics of a client agent with the parts that they tell of. */
import type { Clock } from '../lib/clock.ts'
import { metricsDocument, type MetricsDocument } from '../metrics/document.ts'
import { Exposition, type MetricsText } from '../metrics/exposition.ts'
import { garbageMetrics } from '../metrics/garbage.ts'
import { gossipMetrics, type GossipNumbers } from '../metrics/gossip.ts'
import { httpMetrics, type ObserverOf } from '../metrics/http.ts'
import { limitMetrics, type RefusedSource } from '../metrics/limits.ts'
import { Metrics } from '../metrics/metrics.ts'
import { processMetrics } from '../metrics/process.ts'
import { rpcMetrics, type CallEnd } from '../metrics/rpc.ts'

export type Measured = {
  readonly http: { readonly refused: RefusedSource }
  readonly gossip: { counters(): GossipNumbers }
}

export class ClientTelemetry {
  readonly observerOf: ObserverOf
  /** Called at the end of each call of a method. */
  readonly callEnded: (end: CallEnd) => void
  readonly #clock: Clock
  readonly #metrics: Metrics
  readonly #exposition: Exposition
  readonly #ends: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
    this.#metrics = new Metrics(clock)
    this.#exposition = new Exposition(this.#metrics)
    this.observerOf = httpMetrics(this.#metrics)
    this.callEnded = rpcMetrics(this.#metrics)
  }

  start({ http, gossip }: Measured): void {
    const stopProcess = processMetrics(this.#metrics, this.#clock)
    const stopGarbage = garbageMetrics(this.#metrics)
    limitMetrics(this.#metrics, () => http.refused)
    gossipMetrics(this.#metrics, () => gossip.counters())
    this.#metrics.start()
    this.#ends.push(stopProcess, stopGarbage, () => this.#metrics.stop())
  }

  stop(): void {
    for (const end of this.#ends.splice(0)) end()
  }

  document(): MetricsDocument {
    return metricsDocument(this.#metrics)
  }

  text(): Promise<MetricsText> {
    return this.#exposition.text()
  }
}
