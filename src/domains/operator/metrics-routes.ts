/** `/v1/metrics`, and the same under the path that Consul's tools ask. */
import { Type } from 'typebox'
import type { DescribedRoute } from '../../api/route.ts'
import { jsonType, mapOf, optionally, text, textType } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { metricsMethods } from './metrics.ts'

const shownLengthMax = 100

function figuresAt(path: string, summary: string): DescribedRoute {
  return {
    method: 'GET',
    path,
    summary,
    permission: 'none',
    query: optionally({ format: text('`prometheus`; JSON unless said') }),
    reply: {
      200: {
        [jsonType]: mapOf(Type.Unknown(), 'Gauges, counters and samples'),
        [textType]: text("Prometheus' text format"),
      },
    },
    example: { url: `${path}?format=prometheus` },
    anyRegion: true,
    handle: async (request) => {
      const format = request.search.text('format') || null
      if (format === null) return { json: await request.call(metricsMethods.document, {}) }
      if (format === 'prometheus') return request.call(metricsMethods.text, {})
      throw new MusterError(
        'invalid_argument',
        `format ${JSON.stringify(format.slice(0, shownLengthMax))} is not known: say prometheus, or leave it out for JSON`,
      )
    },
  }
}

export const metricsRoutes: readonly DescribedRoute[] = [
  figuresAt('/v1/metrics', 'Figures of this agent'),
  figuresAt('/v1/agent/metrics', "Figures of this agent, under Consul's path"),
]
