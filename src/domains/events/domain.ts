/** What changed, told as it changes; the topics are the other domains'. */
import { encodeJson } from '../../api/json.ts'
import { defineDomain, defineService, type Domain } from '../domain.ts'
import { EventBuffer } from './buffer.ts'
import { eventMetrics } from './metrics.ts'
import { eventMethods } from './methods.ts'
import { eventRoutes } from './routes.ts'
import { bufferLimits, changeSource, eventBuffer, eventTelling } from './services.ts'
import { ShownEvents } from './shown-events.ts'
import type { AnyTopic } from './topic.ts'

export const eventsDomain = defineDomain({
  name: 'events',
  services: [
    defineService(eventBuffer, {
      create: ({ service, clock, domains }) =>
        new EventBuffer(
          service(changeSource),
          topicsOf(domains).map(({ table }) => table.name),
          clock,
          service(bufferLimits),
        ),
      stop: (buffer) => buffer.close(),
    }),
    defineService(eventTelling, {
      create: ({ domains }) => ({
        topics: topicsOf(domains),
        shown: new ShownEvents((value) => encodeJson(value, false)),
      }),
    }),
  ],
  measured: {
    declare: (metrics, service) => eventMetrics(metrics, service(eventBuffer)),
    refused: (service) => ({ event_streams: service(eventBuffer).refusedCount }),
  },
  methods: Object.values(eventMethods),
  routes: eventRoutes,
})

function topicsOf(domains: readonly Domain[]): readonly AnyTopic[] {
  return domains.flatMap(({ topics = [] }) => topics)
}
