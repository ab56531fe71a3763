/** `/v1/metrics`. */
import type { Route } from '../../api/route.ts'
import { MusterError } from '../../lib/errors.ts'
import { metricsMethods } from './metrics.ts'

const shownLengthMax = 100

export const metricsRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/metrics',
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
  },
]
