/** Routes that Consul's early clients ask for with GET. */
import type { Route } from './route.ts'

/**
 * The routes that change something, by GET too in Consul's dialect: Consul took both before its version 1.0, and clients of that
 * time still ask so.
 */
export function alsoByGet(routes: readonly Route[]): readonly Route[] {
  return routes.map((route): Route => ({
    ...route,
    method: 'GET',
    dialect: 'consul',
    body: 'none',
    changesByGet: true,
  }))
}
