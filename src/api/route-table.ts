/**
 * All routes: which of them serves a request, and for a path that has other methods, which. The tree has a node for each segment of their
 * paths, so finding one costs as much as its path has segments, however many routes there are. Every request is sought: so a path is
 * walked where it is, and begins below its first two segments.
 */
import { assert } from '../lib/assert.ts'
import type { Dialect } from '../lib/dialects.ts'
import { decodePath } from './request-path.ts'
import type { Route } from './route.ts'

export type Found = {
  readonly route: Route
  /** Percent-decoded, by their names. */
  readonly parameters: Readonly<Record<string, string>>
}

type End = {
  readonly route: Route
  /** Where in the path its parameters are. */
  readonly names: readonly (readonly [at: number, name: string])[]
}

type Ends = Map<string, readonly End[]>

type Node = {
  readonly written: Map<string, Node>
  /** Any segment, also an empty one: the route says what is missing. */
  parameter: Node | null
  /** Of routes that end here, by method. */
  readonly ends: Ends
  /** Of those that go on with `*`. */
  readonly open: Ends
}

function newNode(): Node {
  return { written: new Map(), parameter: null, ends: new Map(), open: new Map() }
}

export const noParameters: Found['parameters'] = Object.freeze({})

export class RouteTable {
  readonly routes: readonly Route[]
  readonly #root = newNode()
  /** By the first two segments of paths that have them written out, as in `/v1/kv`. */
  readonly #heads = new Map<string, Node>()
  /** By path, of those that have no parameter and do not go on. */
  readonly #whole = new Map<string, Ends>()
  readonly #known: ReadonlySet<Route>

  /** Asserts that no two routes serve the same method and path in the same dialect. */
  constructor(routes: readonly Route[]) {
    this.routes = routes
    this.#known = new Set(routes)
    for (const route of routes) this.#add(route)
    for (const [first, node] of this.#root.written.get('')?.written ?? []) {
      for (const [second, head] of node.written) this.#heads.set(`/${first}/${second}`, head)
    }
  }

  /** False for what stands in where there is no route. */
  has(route: Route): boolean {
    return this.#known.has(route)
  }

  /** `path`: as it was sent. Null: there is none. Throws `invalid_argument` for a path that cannot be decoded. */
  find(method: string, path: string, dialect: Dialect): Found | null {
    const isEncoded = path.includes('%')
    // Also what no route has as a segment is to be good.
    if (isEncoded) decodePath(path)
    const sought: Sought = { path, isEncoded, method, dialect }
    const end = this.#endBelowHead(sought) ?? endBelow(this.#root, sought, 0)
    return end === null ? null : { route: end.route, parameters: parametersOf(end, path) }
  }

  #endBelowHead(sought: Sought): End | null {
    const { path } = sought
    const second = path.indexOf('/', 1)
    if (second < 0) return null
    const third = path.indexOf('/', second + 1)
    const to = third < 0 ? path.length : third
    const head = this.#heads.get(path.slice(0, to))
    if (head === undefined) return null
    const end = head.written.size === 0 ? null : this.#endOfWhole(sought)
    return end ?? endBelow(head, sought, to + 1)
  }

  /** It goes before all others that fit. */
  #endOfWhole({ path, method, dialect }: Sought): End | null {
    return endFor(this.#whole.get(path)?.get(method), dialect)
  }

  /** Sorted methods of every route of a dialect that a path, as it was sent, fits; empty when there is none. */
  methodsOf(path: string, dialect: Dialect): readonly string[] {
    const methods = new Set<string>()
    const segments = segmentsOf(path)
    collectBelow(this.#root, segments, 0, (ends) => {
      for (const [method, found] of ends) {
        if (endFor(found, dialect) !== null) methods.add(method)
      }
    })
    return [...methods].sort()
  }

  #add(route: Route): void {
    let node = this.#root
    const segments = route.path.split('/')
    const isOpen = segments.at(-1) === '*'
    for (const segment of isOpen ? segments.slice(0, -1) : segments) {
      node = segment.startsWith(':') ? (node.parameter ??= newNode()) : writtenBelow(node, segment)
    }
    const ends = isOpen ? node.open : node.ends
    const names = segments.flatMap((segment, at) =>
      segment.startsWith(':') ? [[at, segment.slice(1)] as const] : [],
    )
    if (names.length === 0 && !isOpen) this.#whole.set(route.path, ends)
    for (const method of methodsServed(route)) {
      const others = ends.get(method) ?? []
      const isTaken = others.some((other) => other.route.dialect === route.dialect)
      const served = [...(route.dialect === undefined ? [] : [route.dialect]), method, route.path]
      assert(!isTaken, `two routes serve ${served.join(' ')}`)
      ends.set(method, [...others, { route, names }])
    }
  }
}

function writtenBelow(node: Node, segment: string): Node {
  let below = node.written.get(segment)
  if (below === undefined) {
    below = newNode()
    node.written.set(segment, below)
  }
  return below
}

function segmentsOf(path: string): readonly string[] {
  const segments = path.split('/')
  return path.includes('%') ? segments.map(decodePath) : segments
}

type Sought = {
  readonly path: string
  readonly isEncoded: boolean
  readonly method: string
  readonly dialect: Dialect
}

/**
 * `from`: where the next segment begins, one past the end of the path if there is none. A segment that is written out goes before a
 * parameter, and a parameter before `*`.
 */
function endBelow(node: Node, sought: Sought, from: number): End | null {
  const { path, isEncoded, method, dialect } = sought
  if (from > path.length) return endFor(node.ends.get(method), dialect)
  const { written, parameter } = node
  if (written.size > 0 || parameter !== null) {
    const slash = path.indexOf('/', from)
    const to = slash < 0 ? path.length : slash
    const segment = path.slice(from, to)
    const below = written.get(isEncoded ? decodePath(segment) : segment)
    if (below !== undefined) {
      const end = endBelow(below, sought, to + 1)
      if (end !== null) return end
    }
    if (parameter !== null) {
      const end = endBelow(parameter, sought, to + 1)
      if (end !== null) return end
    }
  }
  return endFor(node.open.get(method), dialect)
}

function collectBelow(
  node: Node,
  segments: readonly string[],
  at: number,
  take: (ends: Ends) => void,
): void {
  const segment = segments[at]
  if (segment === undefined) {
    take(node.ends)
    return
  }
  take(node.open)
  const written = node.written.get(segment)
  if (written !== undefined) collectBelow(written, segments, at + 1, take)
  if (node.parameter !== null) {
    collectBelow(node.parameter, segments, at + 1, take)
  }
}

/** One with the request's dialect, else one without any. */
function endFor(ends: readonly End[] | undefined, asked: Dialect): End | null {
  if (ends === undefined) return null
  let found: End | null = null
  for (const end of ends) {
    if (end.route.dialect === asked) return end
    if (end.route.dialect === undefined) found = end
  }
  return found
}

function parametersOf({ names }: End, path: string): Found['parameters'] {
  if (names.length === 0) return noParameters
  const segments = segmentsOf(path)
  const parameters: Record<string, string> = {}
  for (const [at, name] of names) parameters[name] = segments[at] ?? ''
  return parameters
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
