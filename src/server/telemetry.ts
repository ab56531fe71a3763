/** Joins the metrics of a server with the parts that they tell of. */
import type { Machine } from '../fsm/machine.ts'
import type { Clock } from '../lib/clock.ts'
import { metricsDocument, type MetricsDocument } from '../metrics/document.ts'
import { Exposition, type MetricsText } from '../metrics/exposition.ts'
import { httpMetrics, type ObserverOf } from '../metrics/http.ts'
import { Metrics } from '../metrics/metrics.ts'
import { processMetrics } from '../metrics/process.ts'
import { raftMetrics, raftTimes, type RaftSource, type RaftTimes } from '../metrics/raft.ts'
import { stateMetrics } from '../metrics/state.ts'
import { wireMetrics } from '../metrics/wire.ts'
import { refusalKinds } from '../wire/refusals.ts'
import type { Wire } from '../wire/wire.ts'

export type Measured = {
  readonly node: Pick<RaftSource, 'status' | 'lastContactMs' | 'onChange'>
  readonly logStats: RaftSource['logStats']
  readonly machine: Pick<Machine, 'storeStats' | 'watchStats'>
  readonly dispatcher: { readonly parkedCount: number }
  readonly http: { readonly underWayCount: number }
  readonly wire: Pick<Wire, 'refusals' | 'tls'>
}

export class Telemetry {
  /** For parts that declare families of their own. */
  readonly metrics: Metrics
  readonly raftTimes: RaftTimes
  readonly observerOf: ObserverOf
  readonly #clock: Clock
  readonly #exposition: Exposition
  readonly #ends: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
    this.metrics = new Metrics(clock)
    this.#exposition = new Exposition(this.metrics)
    this.raftTimes = raftTimes(this.metrics)
    this.observerOf = httpMetrics(this.metrics)
  }

  start({ node, logStats, machine, dispatcher, http, wire }: Measured): void {
    const stopProcess = processMetrics(this.metrics, this.#clock)
    const stopRaft = raftMetrics(this.metrics, {
      status: () => node.status(),
      lastContactMs: () => node.lastContactMs(),
      onChange: (listener) => node.onChange(listener),
      logStats,
    })
    stateMetrics(this.metrics, {
      storeStats: () => machine.storeStats(),
      watchStats: () => machine.watchStats(),
      parkedQueries: () => dispatcher.parkedCount,
      requestsUnderWay: () => http.underWayCount,
    })
    wireMetrics(this.metrics, {
      refusals: () =>
        refusalKinds.map((reason) => ({ reason, count: wire.refusals.count(reason) })),
      certificateUntilMs: () => wire.tls?.certificate.validUntilMs ?? null,
    })
    this.metrics.start()
    this.#ends.push(stopProcess, stopRaft, () => this.metrics.stop())
  }

  stop(): void {
    for (const end of this.#ends.splice(0)) end()
  }

  document(): MetricsDocument {
    return metricsDocument(this.metrics)
  }

  text(): Promise<MetricsText> {
    return this.#exposition.text()
  }
}
