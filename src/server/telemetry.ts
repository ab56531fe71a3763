/** Joins the metrics of a server with the parts that they tell of. */
import type { Machine } from '../fsm/machine.ts'
import type { Clock } from '../lib/clock.ts'
import { metricsDocument, type MetricsDocument } from '../metrics/document.ts'
import { eventMetrics, type EventsSource } from '../metrics/events.ts'
import { Exposition, type MetricsText } from '../metrics/exposition.ts'
import { garbageMetrics } from '../metrics/garbage.ts'
import { gossipMetrics, type GossipNumbers } from '../metrics/gossip.ts'
import {
  type AuditCounts,
  auditMetrics,
  limitMetrics,
  type RefusedSource,
} from '../metrics/limits.ts'
import { httpMetrics, type ObserverOf } from '../metrics/http.ts'
import { Metrics } from '../metrics/metrics.ts'
import { processMetrics } from '../metrics/process.ts'
import { raftMetrics, raftTimes, type RaftSource, type RaftTimes } from '../metrics/raft.ts'
import { rpcMetrics, type CallEnd } from '../metrics/rpc.ts'
import { stateMetrics } from '../metrics/state.ts'
import { wireMetrics } from '../metrics/wire.ts'
import { refusalKinds } from '../wire/refusals.ts'
import type { Wire } from '../wire/wire.ts'

export type Measured = {
  readonly stack: {
    readonly node: Pick<RaftSource, 'status' | 'lastContactMs' | 'onChange'>
    readonly machine: Pick<Machine, 'storeStats' | 'watchStats'>
    readonly wire: Pick<Wire, 'refusals' | 'tls' | 'traffic'>
    logStats: RaftSource['logStats']
  }
  readonly dispatcher: { readonly parkedCount: number; readonly underWayCount: number }
  readonly http: { readonly underWayCount: number; readonly refused: RefusedSource }
  readonly audit: { readonly counts: AuditCounts }
  readonly events: EventsSource
  /** Null: there is no pool. */
  readonly gossip: { counters(): GossipNumbers } | null
}

export class Telemetry {
  /** For parts that declare families of their own. */
  readonly metrics: Metrics
  readonly raftTimes: RaftTimes
  readonly observerOf: ObserverOf
  /** Called at the end of each call of a method. */
  readonly callEnded: (end: CallEnd) => void
  readonly #clock: Clock
  readonly #exposition: Exposition
  readonly #ends: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
    this.metrics = new Metrics(clock)
    this.#exposition = new Exposition(this.metrics)
    this.raftTimes = raftTimes(this.metrics)
    this.observerOf = httpMetrics(this.metrics)
    this.callEnded = rpcMetrics(this.metrics)
  }

  start({ stack, dispatcher, http, audit, events, gossip }: Measured): void {
    const { node, machine, wire } = stack
    const stopProcess = processMetrics(this.metrics, this.#clock)
    const stopGarbage = garbageMetrics(this.metrics)
    const stopRaft = raftMetrics(this.metrics, {
      status: () => node.status(),
      lastContactMs: () => node.lastContactMs(),
      onChange: (listener) => node.onChange(listener),
      logStats: () => stack.logStats(),
    })
    stateMetrics(this.metrics, {
      storeStats: () => machine.storeStats(),
      watchStats: () => machine.watchStats(),
      parkedQueries: () => dispatcher.parkedCount,
      requestsUnderWay: () => http.underWayCount,
      callsUnderWay: () => dispatcher.underWayCount,
    })
    eventMetrics(this.metrics, events)
    limitMetrics(this.metrics, () => http.refused)
    auditMetrics(this.metrics, () => audit.counts)
    wireMetrics(this.metrics, {
      refusals: () =>
        refusalKinds.map((reason) => ({ reason, count: wire.refusals.count(reason) })),
      traffic: () => wire.traffic.all(),
      certificateUntilMs: () => wire.tls?.certificate.validUntilMs ?? null,
    })
    if (gossip !== null) gossipMetrics(this.metrics, () => gossip.counters())
    this.metrics.start()
    this.#ends.push(stopProcess, stopGarbage, stopRaft, () => this.metrics.stop())
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
