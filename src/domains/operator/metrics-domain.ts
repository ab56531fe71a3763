/** What a process tells of itself in numbers. */
import { defineDomain } from '../domain.ts'
import { metricsMethods } from './metrics.ts'
import { metricsRoutes } from './metrics-routes.ts'

export const metricsDomain = defineDomain({
  name: 'metrics',
  methods: Object.values(metricsMethods),
  routes: metricsRoutes,
})
