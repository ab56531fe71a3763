/** Which parameters of the query the routes of a test server read: all of them must be described. */
import { queryOf } from '../../src/api/openapi.ts'
import type { ApiRequest, DescribedRoute } from '../../src/api/route.ts'
import type { Search } from '../../src/api/search.ts'

/** The same routes; `undescribed` gets what they read and do not describe, as `GET /v1/kv/*: recurse`. */
export function watchParameters(
  routes: readonly DescribedRoute[],
  undescribed: Set<string>,
): readonly DescribedRoute[] {
  return routes.map((route) => {
    const described = queryOf(route)
    const read = (name: string): void => {
      if (!(name in described)) undescribed.add(`${route.method} ${route.path}: ${name}`)
    }
    return { ...route, handle: (request) => route.handle(watched(request, read)) }
  })
}

function watched(request: ApiRequest, read: (name: string) => void): ApiRequest {
  return new Proxy(request, {
    get(target, name) {
      // A read of the state takes a consistency; routes that write may look something up.
      if (name === 'query' && target.method === 'GET') read('stale')
      if (name === 'namespace') read('namespace')
      const value: unknown = Reflect.get(target, name, target)
      if (name === 'search') return watchedSearch(target.search, read)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  })
}

function watchedSearch(search: Search, read: (name: string) => void): Search {
  return new Proxy(search, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: readonly unknown[]): unknown => {
        if (typeof args[0] === 'string') read(args[0])
        return Reflect.apply(value, target, args)
      }
    },
  })
}
