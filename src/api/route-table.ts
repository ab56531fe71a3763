/** All routes, each with the HTTP methods it serves, and for a path that has other methods: which. */
import { assert } from '../lib/assert.ts'
import type { Route } from './route.ts'

export type RouteEntry = { readonly route: Route; readonly methods: readonly string[] }

type Pattern = { readonly expression: RegExp; readonly methods: readonly string[] }

export class RouteTable {
  readonly entries: readonly RouteEntry[]
  readonly #patterns: readonly Pattern[]
  readonly #routes: ReadonlySet<Route>

  /** Asserts that no two routes serve the same method and path. */
  constructor(routes: readonly Route[]) {
    const seen = new Set<string>()
    this.#routes = new Set(routes)
    this.entries = routes.map((route) => ({ route, methods: methodsServed(route) }))
    for (const { route, methods } of this.entries) {
      for (const method of methods) {
        assert(!seen.has(`${method} ${route.path}`), `two routes serve ${method} ${route.path}`)
        seen.add(`${method} ${route.path}`)
      }
    }
    this.#patterns = this.entries.map(({ route, methods }) => ({
      expression: expressionOf(route.path),
      methods,
    }))
  }

  /** False for what stands in where there is no route. */
  has(route: Route): boolean {
    return this.#routes.has(route)
  }

  /** Sorted methods of every route that a decoded path fits; empty when there is none. Walks all routes: for refusals. */
  methodsOf(path: string): readonly string[] {
    const fitting = this.#patterns.filter(({ expression }) => expression.test(path))
    return [...new Set(fitting.flatMap(({ methods }) => methods))].sort()
  }
}

function methodsServed(route: Route): readonly string[] {
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
