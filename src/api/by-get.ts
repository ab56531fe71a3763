/** Routes that Consul's early clients ask for with GET. */
import type { DescribedRoute } from './route.ts'

/**
 * Those of the routes that have one of these paths, by GET too in Consul's dialect: Consul took both before its version 1.0,
 * and clients of that time still ask so.
 */
export function alsoByGet(
  routes: readonly DescribedRoute[],
  paths: readonly string[],
): readonly DescribedRoute[] {
  return routes
    .filter(({ method, path }) => method === 'PUT' && paths.includes(path))
    .map((route): DescribedRoute => ({
      ...route,
      method: 'GET',
      dialect: 'consul',
      body: 'none',
      changesByGet: true,
      example: { ...route.example, shownOnly: 'as the same with PUT' },
    }))
}
