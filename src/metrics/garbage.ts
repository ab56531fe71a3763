/**
 * Garbage collection: each pause stops everything else in the process, heartbeats included. The engine tells of each
 * after it ended, some ten times a second under load, so a listener costs nothing that can be measured.
 */
import { constants, PerformanceObserver } from 'node:perf_hooks'
import type { Metrics } from './metrics.ts'
import { latencyBoundsSeconds } from './series.ts'

const kinds = {
  minor: constants.NODE_PERFORMANCE_GC_MINOR,
  major: constants.NODE_PERFORMANCE_GC_MAJOR,
  incremental: constants.NODE_PERFORMANCE_GC_INCREMENTAL,
  weak_callbacks: constants.NODE_PERFORMANCE_GC_WEAKCB,
} as const

/** Returns the way to stop measuring. */
export function garbageMetrics(metrics: Metrics): () => void {
  const series = metrics.distributions({
    name: 'muster_gc_duration_seconds',
    help: 'Pauses of the garbage collector, by kind',
    labelNames: ['kind'],
    bounds: latencyBoundsSeconds,
  })
  const byKind = new Map(Object.entries(kinds).map(([kind, code]) => [code, series({ kind })]))
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      byKind.get(kindOf(entry))?.observe(entry.duration / 1000)
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => observer.disconnect()
}

function kindOf(entry: object): number {
  if (!('detail' in entry)) return -1
  const { detail } = entry
  const isKind = typeof detail === 'object' && detail !== null && 'kind' in detail
  return isKind && typeof detail.kind === 'number' ? detail.kind : -1
}
