/**
 * From a request that lists, by LIST or by `GET …?list=true` as Vault's clients may also ask, to the route with the method
 * LIST. Node's parser knows no LIST, so such a request has another method until it is routed.
 */
import type { IncomingMessage } from 'node:http'
import { parseBoolean } from '../lib/boolean.ts'
import { dialectOf } from './dialect.ts'
import { HttpRefusal } from './errors.ts'
import { listAlias, type ListMethod } from './list-method.ts'
import { pathOf } from './request-path.ts'
import type { Route } from './route.ts'
import type { RouteTable } from './route-table.ts'
import { Search } from './search.ts'

type Listing = {
  /** As it was sent. */
  readonly method: string
  /** False: `list` is no boolean word. */
  readonly isClear: boolean
}

const unclear: Route = {
  method: 'LIST',
  path: '/*',
  headDecides: true,
  handle() {
    throw new HttpRefusal(400, 'query parameter list must be true or false')
  },
}

export class ListRequests {
  readonly #table: RouteTable
  readonly #method: ListMethod
  readonly #listings = new WeakMap<IncomingMessage, Listing>()
  /** Paths are looked at only where there is a route to be found. */
  readonly #served: boolean

  constructor(table: RouteTable, method: ListMethod) {
    this.#table = table
    this.#method = method
    this.#served = table.routes.some(({ method }) => method === 'LIST')
  }

  /** Before it is routed: changes its method if need be, and returns `url`. */
  begin(request: IncomingMessage, url: string): string {
    const { method = 'GET' } = request
    if (method === listAlias && this.#method.takes(request.socket)) {
      this.#listings.set(request, { method: 'LIST', isClear: true })
    } else if (this.#served && (method === 'GET' || method === 'HEAD') && url.includes('list=')) {
      const asked = this.#asked(request, url)
      if (asked !== false) {
        this.#listings.set(request, { method, isClear: asked === true })
        request.method = listAlias
      }
    }
    return url
  }

  /** After it was routed as `listAlias`, to `route`. Null: it is no list. */
  end(request: IncomingMessage, route: Route): Route | null {
    const listing = this.#listings.get(request)
    if (listing === undefined) return null
    request.method = listing.method
    return listing.isClear ? route : unclear
  }

  #asked(request: IncomingMessage, url: string): boolean | null {
    const asked = asksForList(url)
    if (asked === false) return false
    try {
      const found = this.#table.find('LIST', pathOf(url), dialectOf(request.headers))
      return found !== null && asked
    } catch {
      // The router refuses a path that cannot be decoded.
      return false
    }
  }
}

/** What `list` in the query string says; null: no boolean word. */
export function asksForList(url: string): boolean | null {
  try {
    const text = new Search(url.slice(pathOf(url).length + 1)).text('list')
    return text === null || text === '' ? false : (parseBoolean(text) ?? null)
  } catch {
    // The route refuses a query string that cannot be decoded.
    return false
  }
}
