/**
 * What a request would ask for, without asking: the route runs over a dispatcher that only writes down the first thing
 * it is asked, so nothing is read, changed or opened. For explanations of access control.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { MusterError } from '../lib/errors.ts'
import type { Clock } from '../lib/clock.ts'
import { seededRandom } from '../lib/random.ts'
import type { Dispatcher } from '../rpc/dispatch.ts'
import type { AnyAgentMethod, AnyPeerMethod, Method } from '../rpc/method.ts'
import type { Services } from '../rpc/services.ts'
import type { BodyReader } from './body.ts'
import { asksForList } from './list-requests.ts'
import { Exchange } from './request.ts'
import { decodePath, pathOf } from './request-path.ts'
import type { Route } from './route.ts'
import { byPrecedence } from './route-table.ts'

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
  routes: readonly Route[],
  request: ProbedRequest,
  service: Services['get'],
): Promise<Probed> {
  const { route, parameters } = fittingRoute(routes, request)
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

type Fitting = {
  readonly route: Route
  readonly parameters: Readonly<Record<string, string>>
}

function fittingRoute(
  routes: readonly Route[],
  { method, url }: Pick<ProbedRequest, 'method' | 'url'>,
): Fitting {
  const path = pathOf(url)
  const isRead = method === 'GET' || method === 'HEAD'
  const lists = isRead && asksForList(url) === true ? fittingOf(routes, 'LIST', path) : []
  const [best] = [...lists, ...fittingOf(routes, method, path)]
  if (best !== undefined) return best
  throw new MusterError('not_found', `there is no ${`${method} ${path}`.slice(0, shownLengthMax)}`)
}

/** The first one serves the request. */
function fittingOf(routes: readonly Route[], method: string, path: string): readonly Fitting[] {
  const write = ['PUT', 'POST']
  const isSame = (own: string): boolean =>
    own === method ||
    (own === 'GET' && method === 'HEAD') ||
    (write.includes(own) && write.includes(method))
  return routes
    .filter((route) => isSame(route.method))
    .flatMap((route) => fit(route, path) ?? [])
    .toSorted((left, right) => byPrecedence(left.route, right.route))
}

function fit(route: Route, path: string): Fitting | null {
  const own = route.path.split('/')
  const given = path.split('/')
  const tail = own.at(-1) === '*'
  if (tail ? given.length < own.length : given.length !== own.length) return null
  const parameters: Record<string, string> = {}
  for (const [at, segment] of own.entries()) {
    if (segment === '*') break
    const text = decodePath(given[at] ?? '')
    if (segment.startsWith(':')) {
      if (text === '') return null
      parameters[segment.slice(1)] = text
    } else if (segment !== text) return null
  }
  return { route, parameters }
}
