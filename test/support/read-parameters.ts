/** Which parameters of the query the routes of a test server read, and as what: all of them must be described, as just that. */
import { queryOf } from '../../src/api/openapi.ts'
import type { ApiRequest, DescribedRoute } from '../../src/api/route.ts'
import type { Search } from '../../src/api/search.ts'

type Accessor = keyof typeof typesOf
/** `accessor` null: of the request itself. */
type Read = (name: string, accessor: Accessor | null) => void

/** Types of schemas that an accessor of `Search` reads; null: it asks for presence alone. */
const typesOf = {
  text: ['string'],
  all: ['string', 'array'],
  has: null,
  boolean: ['boolean'],
  flag: ['boolean'],
  unsigned: ['integer'],
  integer: ['integer'],
  wholeOrZero: ['integer'],
  durationMs: ['string'],
} as const

/** Read as text, for refusals as Consul words them; for the stream of events `index` may be `now`. */
const ownReader = new Set(['index', 'enable'])

/** The same routes; `undescribed` gets what they read and do not describe, as `GET /v1/kv/*: recurse`. */
export function watchParameters(
  routes: readonly DescribedRoute[],
  undescribed: Set<string>,
): readonly DescribedRoute[] {
  return routes.map((route) => {
    const described = queryOf(route)
    const read: Read = (name, accessor) => {
      const schema = described[name]
      const types: readonly string[] | null = accessor === null ? null : typesOf[accessor]
      if (schema === undefined) undescribed.add(`${route.method} ${route.path}: ${name}`)
      else if (types?.includes(typeOf(schema)) === false && !ownReader.has(name)) {
        undescribed.add(`${route.method} ${route.path}: ${name} is no ${typeOf(schema)}`)
      }
    }
    return { ...route, handle: (request) => route.handle(watched(request, read)) }
  })
}

function watched(request: ApiRequest, read: Read): ApiRequest {
  return new Proxy(request, {
    get(target, name) {
      // A read of the state takes a consistency; routes that write may look something up.
      if (name === 'query' && target.method === 'GET') read('stale', null)
      if (name === 'namespace') read('namespace', null)
      const value: unknown = Reflect.get(target, name, target)
      if (name === 'search') return watchedSearch(target.search, read)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  })
}

function watchedSearch(search: Search, read: Read): Search {
  return new Proxy(search, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: readonly unknown[]): unknown => {
        if (typeof args[0] === 'string' && isAccessor(name)) read(args[0], name)
        return Reflect.apply(value, target, args)
      }
    },
  })
}

function isAccessor(name: string | symbol): name is Accessor {
  return Object.hasOwn(typesOf, name)
}

function typeOf(schema: object): string {
  return 'type' in schema && typeof schema.type === 'string' ? schema.type : 'string'
}
