/** Readers of events, and what is kept for them. */
import type { Metrics } from '../../metrics/metrics.ts'
import type { EventBuffer } from './buffer.ts'

export function eventMetrics(metrics: Metrics, source: Pick<EventBuffer, 'stats'>): void {
  metrics.gauge('muster_event_streams', 'Readers of events', () => source.stats().readers)
  metrics.counter(
    'muster_event_streams_behind_total',
    'Readers of events that wanted what was not kept any more',
    () => source.stats().behind,
  )
  metrics.gauge(
    'muster_events_kept',
    'Changed rows that are kept for readers of events',
    () => source.stats().events,
  )
  metrics.gauge('muster_events_kept_bytes', 'What these take in memory', () => source.stats().bytes)
}
