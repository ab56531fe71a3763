/** What a route does with a body, and how many bytes of one it takes. */
import type { Route } from './route.ts'

/** Of a body that nobody wants: some clients send `{}` with everything. */
export const ignoredBodyBytesMax = 65_536

/** What a route does with a body. */
export function bodyKindOf({ body, method }: Route): NonNullable<Route['body']> {
  return body ?? (method === 'GET' || method === 'LIST' ? 'none' : 'json')
}

/** Bytes of a body that a route takes. `standard`: the server's, for routes that say nothing. */
export function bodyBytesMaxOf(route: Route, standard: number): number {
  if (route.bodyBytesMax !== undefined) return route.bodyBytesMax
  const ignored = bodyKindOf(route) === 'none' || route.method === 'DELETE'
  return ignored ? Math.min(standard, ignoredBodyBytesMax) : standard
}
