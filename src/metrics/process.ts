/** The process itself: memory, processor time, and how late its event loop is. */
import type { Clock, Timer } from '../lib/clock.ts'
import type { Metrics } from './metrics.ts'
import { latencyBoundsSeconds } from './series.ts'

/** A timer of this length is late by as long as the loop was held up: a sample, for the timers of an idle process cost as much as its work. */
export const lagProbeMs = 250

/** Returns the way to stop measuring. */
export function processMetrics(metrics: Metrics, clock: Clock): () => void {
  const startSeconds = clock.wallMs() / 1000 - process.uptime()
  metrics.gauge('process_start_time_seconds', 'When the process began, since the Unix epoch', () =>
    Math.round(startSeconds),
  )
  metrics.counter('process_cpu_seconds_total', 'Processor time, of user and system', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  metrics.gauge('process_resident_memory_bytes', 'Memory that is resident', () =>
    process.memoryUsage.rss(),
  )
  metrics.gauges({
    name: 'muster_process_memory_bytes',
    help: 'Memory of the JavaScript heap, and of what it holds outside of it',
    labelNames: ['kind'],
    read: () => {
      const { heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage()
      return Object.entries({ heapUsed, heapTotal, external, arrayBuffers }).map(
        ([kind, value]) => ({ labels: { kind: snakeCase(kind) }, value }),
      )
    },
  })
  metrics.counter(
    'muster_eventloop_busy_seconds_total',
    'Time in which the event loop had something to do',
    () => performance.eventLoopUtilization().active / 1000,
  )
  const lag = metrics.distributions({
    name: 'muster_eventloop_lag_seconds',
    help: `How late a timer of ${lagProbeMs} ms was: how long the event loop was held up`,
    labelNames: [],
    bounds: latencyBoundsSeconds,
  })({})
  let timer: Timer
  const arm = (): void => {
    const dueMs = clock.monotonicMs() + lagProbeMs
    timer = clock.setTimer(lagProbeMs, () => {
      lag.observe(Math.max(0, clock.monotonicMs() - dueMs) / 1000)
      arm()
    })
  }
  arm()
  return () => timer.cancel()
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
