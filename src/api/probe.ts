/**
 * What a request would ask for, without asking: the route runs over a dispatcher that only writes down the first thing
 * it is asked, so nothing is read, changed or opened. For explanations of access control.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { MusterError } from '../lib/errors.ts'
import type { Clock } from '../lib/clock.ts'
import { dialects } from '../lib/dialects.ts'
import { seededRandom } from '../lib/random.ts'
import type { Dispatcher } from '../rpc/dispatch.ts'
import type { AnyAgentMethod, AnyPeerMethod, Method } from '../rpc/method.ts'
import type { Services } from '../rpc/services.ts'
import type { BodyReader } from './body.ts'
import { asksForList } from './list-requests.ts'
import { Exchange } from './request.ts'
import { pathOf } from './request-path.ts'
import type { Route } from './route.ts'
import type { Found, RouteTable } from './route-table.ts'

export type ProbedRequest = {
  readonly method: string
  /** With its query string. */
  readonly url: string
  readonly body: Uint8Array
}

export type Probed = {
  readonly route: Route
  /** Null: the route answers without asking for anything. */
  readonly asked: { readonly method: AskedMethod; readonly args: unknown } | null
}

/** What a route asks for: a method that a client may cause to run. */
export type AskedMethod = Exclude<Method, AnyPeerMethod | AnyAgentMethod>

const shownLengthMax = 200

class Asked extends Error {
  readonly method: AskedMethod
  readonly args: unknown

  constructor(method: AskedMethod, args: unknown) {
    super('asked')
    this.method = method
    this.args = args
  }
}

/**
 * `service`: of the process. Throws `not_found` when no route fits, and whatever the route throws of a request that comes to
 * no question.
 */
export async function probe(
  table: RouteTable,
  request: ProbedRequest,
  service: Services['get'],
): Promise<Probed> {
  const { route, parameters } = fittingRoute(table, request)
  const ask = (method: AskedMethod, args: unknown): Promise<never> =>
    Promise.reject(new Asked(method, args))
  const exchange = new Exchange(
    {
      dispatcher: {
        query: ask,
        call: ask,
        open: ask,
        services: { get: service },
      } as unknown as Dispatcher,
      clock: stillClock,
      random: seededRandom(1),
      bodies: {
        read: async () => request.body,
        stream: () => emptyStream(),
        budget: { release: () => {} },
      } as unknown as BodyReader,
      bodyBytesMax: request.body.length,
      asksForWebSocket: () => false,
    },
    route,
    {
      method: request.method,
      url: request.url,
      headers: { 'content-length': String(request.body.length) },
      socket: {},
    } as unknown as IncomingMessage,
    {} as ServerResponse,
    parameters,
    'probe',
  )
  try {
    await exchange.readBody()
    await route.handle(exchange)
    return { route, asked: null }
  } catch (error) {
    if (!(error instanceof Asked)) throw error
    return { route, asked: { method: error.method, args: error.args } }
  }
}

const stillClock: Clock = {
  monotonicMs: () => 0,
  wallMs: () => 0,
  setTimer: () => ({ cancel: () => {} }),
}

async function* emptyStream(): AsyncGenerator<Uint8Array> {}

function fittingRoute(
  table: RouteTable,
  { method, url }: Pick<ProbedRequest, 'method' | 'url'>,
): Found {
  const path = pathOf(url)
  const isRead = method === 'GET' || method === 'HEAD'
  const methods = isRead && asksForList(url) === true ? ['LIST', method] : [method]
  for (const dialect of dialects) {
    for (const one of methods) {
      const found = table.find(one, path, dialect)
      if (found !== null) return found
    }
  }
  throw new MusterError('not_found', `there is no ${`${method} ${path}`.slice(0, shownLengthMax)}`)
}
