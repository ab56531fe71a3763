/** What this server is asked, by its own clients and by other servers, method by method. */
import type { Metrics } from './metrics.ts'
import { latencyBoundsSeconds, type Distribution, type Tally } from './series.ts'

/** `rpc/dispatch.ts`'s audit line fits. */
export type CallEnd = {
  readonly method: string
  /** `ok` or the code of an error. */
  readonly outcome: string
  readonly forwarded: boolean
  /** It may have waited for a change on purpose. */
  readonly blocking: boolean
  readonly durationMs: number
}

type MethodSeries = { readonly requests: Map<string, Tally>; readonly durations: Distribution }

/** Returns what is called at the end of each call; methods are those of the registry of domains, so their number is bounded. */
export function rpcMetrics(metrics: Metrics): (end: CallEnd) => void {
  const requests = metrics.tallies({
    name: 'muster_rpc_requests_total',
    help: 'Calls of methods, by outcome and by where they came from: a client of this server, or another server',
    labelNames: ['method', 'from', 'outcome'],
  })
  const durations = metrics.distributions({
    name: 'muster_rpc_request_duration_seconds',
    help: 'From the arrival of a call to its result; of streams the opening; blocking queries left out',
    labelNames: ['method', 'from'],
    bounds: latencyBoundsSeconds,
  })
  const bySource = {
    client: new Map<string, MethodSeries>(),
    server: new Map<string, MethodSeries>(),
  }
  return ({ method, outcome, forwarded, blocking, durationMs }) => {
    const from = forwarded ? 'server' : 'client'
    let series = bySource[from].get(method)
    if (series === undefined) {
      series = { requests: new Map(), durations: durations({ method, from }) }
      bySource[from].set(method, series)
    }
    let tally = series.requests.get(outcome)
    if (tally === undefined) {
      tally = requests({ method, from, outcome })
      series.requests.set(outcome, tally)
    }
    tally.value += 1
    if (!blocking) series.durations.observe(durationMs / 1000)
  }
}

/** Fates of writes, by what this server learned of them. `rpc/sent-writes.ts` fits. */
export type UnansweredWrites = Readonly<Record<'applied' | 'void' | 'unknown', number>>

export function unansweredMetrics(metrics: Metrics, fates: () => UnansweredWrites): void {
  metrics.counters({
    name: 'muster_rpc_unanswered_writes_total',
    help: 'Writes sent to a leader that did not answer: applied (answered from here), void (sent again), or unknown',
    labelNames: ['fate'],
    read: () => Object.entries(fates()).map(([fate, value]) => ({ labels: { fate }, value })),
  })
}
