/** All routes, each with the HTTP methods it serves, and for a path that has other methods: which. */
import { assert } from '../lib/assert.ts'
import { dialectOf, type Dialect } from './dialect.ts'
import type { RequestHeaders } from './headers.ts'
import type { Route } from './route.ts'

export type RouteEntry = { readonly route: Route; readonly methods: readonly string[] }

type Pattern = {
  readonly expression: RegExp
  readonly methods: readonly string[]
  /** null: every request's. */
  readonly dialect: Dialect | null
}

/** How the router chooses between routes of one path: one with the request's dialect, else one without any. */
export const byDialect = {
  name: 'dialect',
  storage<Handler>() {
    const handlers = new Map<unknown, Handler>()
    return {
      get: (dialect: unknown) => handlers.get(dialect) ?? null,
      set: (dialect: unknown, handler: Handler) => void handlers.set(dialect, handler),
    }
  },
  validate: () => {},
  deriveConstraint: ({ headers }: { readonly headers: RequestHeaders }) => dialectOf(headers),
}

export class RouteTable {
  readonly entries: readonly RouteEntry[]
  readonly #patterns: readonly Pattern[]
  readonly #routes: ReadonlySet<Route>

  /** Asserts that no two routes serve the same method and path in the same dialect. */
  constructor(routes: readonly Route[]) {
    const seen = new Set<string>()
    this.#routes = new Set(routes)
    this.entries = routes.map((route) => ({ route, methods: methodsServed(route) }))
    for (const { route, methods } of this.entries) {
      for (const method of methods) {
        const served = [...(route.dialect === undefined ? [] : [route.dialect]), method, route.path]
        const text = served.join(' ')
        assert(!seen.has(text), `two routes serve ${text}`)
        seen.add(text)
      }
    }
    this.#patterns = this.entries.map(({ route, methods }) => ({
      expression: expressionOf(route.path),
      methods,
      dialect: route.dialect ?? null,
    }))
  }

  /** False for what stands in where there is no route. */
  has(route: Route): boolean {
    return this.#routes.has(route)
  }

  /**
   * Sorted methods of every route of a dialect that a decoded path fits; empty when there is none. Walks all routes: for
   * refusals.
   */
  methodsOf(path: string, asked: Dialect): readonly string[] {
    const fitting = this.#patterns.filter(
      ({ expression, dialect }) => (dialect === null || dialect === asked) && expression.test(path),
    )
    return [...new Set(fitting.flatMap(({ methods }) => methods))].sort()
  }
}

/**
 * Of two routes that fit a path the first one serves it: where their paths begin to differ, a segment that is written out goes
 * before a parameter, and a parameter before `*`.
 */
export function byPrecedence(left: Route, right: Route): number {
  const [one, other] = [left.path.split('/'), right.path.split('/')]
  const at = one.findIndex((segment, at) => openness(segment) !== openness(other[at] ?? ''))
  return at < 0 ? 0 : openness(one[at] ?? '') - openness(other[at] ?? '')
}

function openness(segment: string): number {
  return segment === '*' ? 2 : segment.startsWith(':') ? 1 : 0
}

export function methodsServed(route: Route): readonly string[] {
  switch (route.method) {
    case 'GET':
      return ['GET', 'HEAD']
    case 'PUT':
      return route.switches === 'presence' ? ['PUT'] : ['PUT', 'POST']
    case 'POST':
      return route.switches === 'presence' ? ['POST'] : ['PUT', 'POST']
    default:
      return [route.method]
  }
}

/** Linear to match: a segment stops at a slash, and only the end may take more. */
function expressionOf(path: string): RegExp {
  const source = path
    .split('/')
    .map((segment) =>
      segment === '*'
        ? '.*'
        : segment.startsWith(':')
          ? '[^/]+'
          : segment.replaceAll(/[^\w-]/g, '\\$&'),
    )
    .join('/')
  return new RegExp(`^${source}$`, 's')
}
