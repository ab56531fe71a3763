/** `dc` of the query: the own datacenter, by name or by silence. No other is ever asked from here. */
import { MusterError } from '../lib/errors.ts'
import type { DescribedRoute } from './route.ts'
import { ofDatacenter } from './shape.ts'
import { site } from './site.ts'

/** The same routes, which refuse another datacenter with 400. */
export function inDatacenter(routes: readonly DescribedRoute[]): readonly DescribedRoute[] {
  return routes.map((route) => ({
    ...route,
    query: { ...route.query, ...ofDatacenter },
    handle(request) {
      const asked = request.search.text('dc') ?? ''
      const { datacenter } = request.service(site)
      if (asked !== '' && asked.toLowerCase() !== datacenter.toLowerCase()) {
        const name = JSON.stringify(asked.slice(0, 100))
        throw new MusterError(
          'invalid_argument',
          `No path to datacenter ${name}: this is ${datacenter}`,
        )
      }
      return route.handle(request)
    },
  }))
}
