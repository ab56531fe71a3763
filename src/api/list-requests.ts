/**
 * From a request that lists, by LIST or by `GET …?list=true` as Vault's clients may also ask, to the route with the method
 * LIST. Node's parser knows no LIST, so such a request has another method until its route is sought.
 */
import type { IncomingMessage } from 'node:http'
import { parseBoolean } from '../lib/boolean.ts'
import { dialectOf } from './dialect.ts'
import { HttpRefusal } from './errors.ts'
import { listAlias, type ListMethod } from './list-method.ts'
import { pathOf } from './request-path.ts'
import type { Route } from './route.ts'
import { noParameters, type Found, type RouteTable } from './route-table.ts'
import { Search } from './search.ts'

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
  /** Paths are looked at only where there is a route to be found. */
  readonly #served: boolean

  constructor(table: RouteTable, method: ListMethod) {
    this.#table = table
    this.#method = method
    this.#served = table.routes.some(({ method }) => method === 'LIST')
  }

  /** Null: what its method and path say. A request that came as LIST has that method from now on. Throws as `RouteTable.find`. */
  find(request: IncomingMessage): Found | null {
    const { method = 'GET', url = '/' } = request
    if (method === listAlias && this.#method.takes(request.socket)) request.method = 'LIST'
    const mayList = this.#served && (method === 'GET' || method === 'HEAD')
    if (!mayList || !url.includes('list=')) return null
    const asked = asksForList(url)
    if (asked === false) return null
    const found = this.#table.find('LIST', pathOf(url), dialectOf(request.headers))
    return found === null || asked === true ? found : { route: unclear, parameters: noParameters }
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
