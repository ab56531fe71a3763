/** HTTP by route: the pattern of the route, never the path that was asked for, which may hold anything. */
import type { Metrics } from './metrics.ts'
import { latencyBoundsSeconds, type Distribution, type Labels, type Tally } from './series.ts'

/** Called once for each request, at its end. Status 0: the client went away before there was one. */
export type RequestObserver = (status: number, durationMs: number, blocking: boolean) => void

/** The observer of one route; null stands for whatever no route serves. */
export type ObserverOf = (
  route: { readonly method: string; readonly path: string } | null,
) => RequestObserver

type Class = { readonly requests: Tally; readonly durations: Distribution }

const labelNames = ['method', 'route', 'code'] as const

/** By hundreds of the status. */
const classNames = ['aborted', '1xx', '2xx', '3xx', '4xx', '5xx'] as const

export function httpMetrics(metrics: Metrics): ObserverOf {
  const requests = metrics.tallies({
    name: 'muster_http_requests_total',
    help: 'Requests that were answered, by route and class of status',
    labelNames,
  })
  const durations = metrics.distributions({
    name: 'muster_http_request_duration_seconds',
    help: 'From the head of a request to the end of its answer; blocking queries, which wait on purpose, left out',
    labelNames,
    bounds: latencyBoundsSeconds,
  })
  return (route) => {
    const classes: (Class | undefined)[] = classNames.map(() => undefined)
    const classOf = (at: number): Class => {
      const code = classNames[at] ?? 'aborted'
      const labels: Labels =
        route === null
          ? { method: 'any', route: 'unmatched', code }
          : { method: route.method, route: route.path, code }
      return { requests: requests(labels), durations: durations(labels) }
    }
    return (status, durationMs, blocking) => {
      const at = Math.trunc(status / 100)
      const found = (classes[at] ??= classOf(at))
      found.requests.value += 1
      if (!blocking) found.durations.observe(durationMs / 1000)
    }
  }
}
