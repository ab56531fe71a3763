/** Joins the metrics of a server with the parts that they tell of. */
import type { Composed } from '../domains/domain.ts'
import type { Machine } from '../fsm/machine.ts'
import { ProcessTelemetry } from '../runtime/telemetry.ts'
import { gossipMetrics, type GossipNumbers } from '../metrics/gossip.ts'
import {
  answerMetrics,
  type AuditCounts,
  auditMetrics,
  limitMetrics,
  type RefusedSource,
} from '../metrics/limits.ts'
import { memoryMetrics, type MemorySource } from '../metrics/memory.ts'
import { raftMetrics, raftTimes, type RaftSource, type RaftTimes } from '../metrics/raft.ts'
import { unansweredMetrics, type UnansweredWrites } from '../metrics/rpc.ts'
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
  readonly dispatcher: {
    readonly parkedCount: number
    readonly underWayCount: number
    readonly refused: RefusedSource
  }
  readonly sent: { readonly fates: UnansweredWrites }
  readonly http: {
    readonly underWayCount: number
    readonly refused: RefusedSource
    readonly answerBytes: number
  }
  readonly audit: { readonly counts: AuditCounts }
  readonly memory: MemorySource
  readonly domains: Pick<Composed, 'measure' | 'refused'>
  /** Null: there is no pool. */
  readonly gossip: { counters(): GossipNumbers } | null
}

export class Telemetry extends ProcessTelemetry {
  readonly raftTimes: RaftTimes = raftTimes(this.metrics)

  start(measured: Measured): void {
    this.begin(() => [this.#join(measured)])
  }

  #join({ stack, dispatcher, sent, http, audit, memory, domains, gossip }: Measured): () => void {
    const { node, machine, wire } = stack
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
    domains.measure(this.metrics)
    limitMetrics(this.metrics, () => ({
      ...http.refused,
      ...dispatcher.refused,
      ...domains.refused(),
    }))
    answerMetrics(this.metrics, () => http.answerBytes)
    unansweredMetrics(this.metrics, () => sent.fates)
    auditMetrics(this.metrics, () => audit.counts)
    memoryMetrics(this.metrics, memory)
    wireMetrics(this.metrics, {
      refusals: () =>
        refusalKinds.map((reason) => ({ reason, count: wire.refusals.count(reason) })),
      traffic: () => wire.traffic.all(),
      certificateUntilMs: () => wire.tls?.certificate.validUntilMs ?? null,
    })
    if (gossip !== null) gossipMetrics(this.metrics, () => gossip.counters())
    return stopRaft
  }
}
