/**
 * The HTTP server: one Fastify app behind any number of listeners. Fastify routes; this file owns the sockets, admits
 * requests within bounds, runs the route and stops in order. The routes come from the domains' catalogue.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Duplex } from 'node:stream'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { assert } from '../lib/assert.ts'
import type { Certificate } from '../lib/certificate.ts'
import { ChurnMap } from '../lib/churn-map.ts'
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import type { Dispatcher } from '../rpc/dispatch.ts'
import { announcesBody, BodyReader, readAway } from './body.ts'
import { Connections } from './connections.ts'
import { errorBody, hasJsonErrors, HttpRefusal } from './errors.ts'
import { type HeaderPrefix, replyHeaderNames } from './headers.ts'
import { RouteObservers, type ObserverOf } from './observer.ts'
import { sendError, sendReply, type ReplyRules } from './reply.ts'
import { decodePath, Exchange, type ExchangeContext } from './request.ts'
import type { ApiReply, Route } from './route.ts'
import { RouteTable } from './route-table.ts'
import { asksForWebSocket, WebSockets } from './websockets.ts'

export type HttpLimits = {
  readonly bodyBytesMax: number
  /** The request line and all headers. */
  readonly headBytesMax: number
  /** For the whole head to arrive. */
  readonly headMs: number
  /** For a whole body to arrive. */
  readonly bodyMs: number
  /** For the next piece of a streamed body. */
  readonly bodyIdleMs: number
  /** For a client to take what is sent. */
  readonly stallMs: number
  /** An idle connection is kept this long. */
  readonly keepAliveMs: number
  /** All listeners together; beyond it requests get 503. */
  readonly requestsMax: number
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  readonly pipelinedMax: number
  readonly gzipBytesMin: number
  /** After a refusal the rest of the body is read away, so that the client gets to see the answer. */
  readonly lingerBytesMax: number
  readonly lingerMs: number
}

export const defaultHttpLimits: HttpLimits = {
  bodyBytesMax: 1_048_576,
  headBytesMax: 16_384,
  headMs: 10_000,
  bodyMs: 30_000,
  bodyIdleMs: 30_000,
  stallMs: 60_000,
  keepAliveMs: 75_000,
  requestsMax: 60_000,
  connectionsMax: 60_000,
  connectionsPerAddressMax: 10_000,
  pipelinedMax: 128,
  gzipBytesMin: 1_024,
  lingerBytesMax: 16_777_216,
  lingerMs: 2_000,
}

/** How often Node looks for heads that take too long. */
const headSweepMs = 1_000

export type HttpServerOptions = {
  readonly routes: readonly Route[]
  readonly dispatcher: Dispatcher
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Of this server: requests for another one are refused. */
  readonly region: string
  /** Reply headers are emitted under these besides the own prefix. Default: all peers'. */
  readonly aliases?: readonly HeaderPrefix[]
  readonly limits?: Partial<HttpLimits>
  /** Default: nobody is told. */
  readonly observerOf?: ObserverOf
}

export type Listen = {
  readonly host: string
  readonly port: number
  /** Absent: plain HTTP. */
  readonly certificate?: Certificate
}

export class HttpServer {
  /** For `inject` in tests, and for plugins that a later composition adds before `listen`. */
  readonly app: FastifyInstance
  readonly #options: HttpServerOptions
  readonly #limits: HttpLimits
  readonly #table: RouteTable
  readonly #unknown: Route
  readonly #rules: ReplyRules
  readonly #context: ExchangeContext
  readonly #connections: Connections
  readonly #observers: RouteObservers
  readonly #bodies: BodyReader
  readonly #websockets: WebSockets
  readonly #servers = new Set<Server>()
  readonly #underWay = new ChurnMap<number, Exchange>()
  #arrived = 0
  readonly #idPrefix = randomBytes(6).toString('hex')
  #nextId = 0
  #stopping = false
  #onIdle: (() => void) | null = null

  constructor(options: HttpServerOptions) {
    this.#options = options
    const limits = { ...defaultHttpLimits, ...options.limits }
    this.#limits = limits
    this.#table = new RouteTable(options.routes)
    this.#unknown = unknownRoute(this.#table)
    this.#connections = new Connections(limits)
    this.#observers = new RouteObservers(options.routes, options.observerOf ?? (() => () => {}))
    this.#bodies = new BodyReader(options.clock, limits)
    this.#websockets = new WebSockets(options.clock, limits.stallMs)
    this.#rules = {
      names: replyHeaderNames(options.aliases ?? ['X-Consul-', 'X-Nomad-', 'X-Vault-']),
      gzipBytesMin: limits.gzipBytesMin,
      stallMs: limits.stallMs,
    }
    this.#context = {
      dispatcher: options.dispatcher,
      clock: options.clock,
      random: options.random,
      bodies: this.#bodies,
      bodyBytesMax: limits.bodyBytesMax,
    }
    this.app = this.#buildApp()
  }

  /** Requests that are not answered to their end, blocking queries among them. */
  get underWayCount(): number {
    return this.#underWay.size
  }

  /** Opens one more listener; resolves with its port once it takes connections. */
  async listen(listen: Listen): Promise<number> {
    assert(!this.#stopping, 'the HTTP server is stopping')
    await this.app.ready()
    const { headBytesMax, headMs, keepAliveMs, connectionsMax } = this.#limits
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      this.app.routing(request, response)
    }
    const options = {
      maxHeaderSize: headBytesMax,
      headersTimeout: headMs,
      // Bodies have their own times: a snapshot may take long, but not stand still.
      requestTimeout: 0,
      connectionsCheckingInterval: headSweepMs,
      keepAliveTimeout: keepAliveMs,
      noDelay: true,
      shouldUpgradeCallback: asksForWebSocket,
    }
    const { certificate } = listen
    const secure = { ...options, ...certificate?.options, handshakeTimeout: headMs }
    const server =
      certificate === undefined ? createServer(options, handle) : createSecureServer(secure, handle)
    if ('setSecureContext' in server) certificate?.serve(server)
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      handle(request, this.#websockets.prepare(request, socket, head))
    })
    server.maxConnections = connectionsMax
    this.#connections.watch(server)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: listen.host, port: listen.port }, () => {
        server.off('error', reject)
        resolve()
      })
    })
    server.on('error', (error) =>
      this.#options.log.error('listener failed', { error: error.message }),
    )
    this.#servers.add(server)
    const address = server.address()
    assert(address !== null && typeof address === 'object', 'a listener has a port')
    return address.port
  }

  /**
   * Takes no more connections, answers blocking queries with what there is, lets the rest finish for `graceMs`, then
   * breaks what is left.
   */
  async stop(graceMs = 5_000): Promise<void> {
    if (this.#stopping) return
    this.#stopping = true
    const closed = [...this.#servers].map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    )
    for (const server of this.#servers) server.closeIdleConnections()
    this.#options.dispatcher.drain()
    if (this.#underWay.size > 0) {
      await new Promise<void>((resolve) => {
        const timer = this.#options.clock.setTimer(graceMs, resolve)
        this.#onIdle = () => {
          timer.cancel()
          resolve()
        }
      })
    }
    for (const [, exchange] of this.#underWay.entries()) exchange.abort()
    this.#websockets.stop()
    for (const server of this.#servers) server.closeAllConnections()
    await Promise.all(closed)
    this.#bodies.stop()
    await this.app.close()
  }

  #buildApp(): FastifyInstance {
    const app = fastify({
      logger: false,
      exposeHeadRoutes: false,
      return503OnClosing: false,
      genReqId: () => `${this.#idPrefix}-${(this.#nextId += 1).toString(36)}`,
      rewriteUrl: (request) => originForm(request.url ?? '/'),
      routerOptions: {
        maxParamLength: this.#limits.headBytesMax,
        // The query string is read by `search.ts`, when a route asks.
        querystringParser: () => noQuery,
      },
      frameworkErrors: (_error, request, reply) => {
        void this.#serve(brokenPath, request, reply)
      },
    })
    // Every request leaves Fastify's path here, before bodies and content types: it routes, the engine answers.
    app.addHook('onRequest', (request, reply, done) => {
      const { route } = request.routeOptions.config
      if (route !== undefined) void this.#serve(route, request, reply)
      else if (request.is404) void this.#serve(this.#unknown, request, reply)
      else done()
    })
    for (const { route, methods } of this.#table.entries) {
      app.route({ method: [...methods], url: route.path, config: { route }, handler: neverReached })
    }
    return app
  }

  async #serve(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reply.hijack()
    const startMs = this.#options.clock.monotonicMs()
    let streamed = false
    let upgraded = false
    const { raw } = request
    const response = reply.raw
    const parameters = request.params as Readonly<Record<string, string | undefined>>
    const exchange = new Exchange(this.#context, route, raw, response, parameters, request.id)
    const admitted = this.#connections.enter(raw.socket)
    this.#arrived += 1
    const place = this.#arrived
    this.#underWay.set(place, exchange)
    response.once('close', () => {
      if (!response.writableFinished) exchange.abort()
    })
    try {
      if (!admitted || this.#underWay.size > this.#limits.requestsMax) {
        throw new MusterError('overloaded', 'too many requests are under way here, try later')
      }
      if (exchange.path.includes('%')) refuseControlCharacters(exchange.path)
      if (route.anyRegion !== true) refuseOtherRegion(exchange, this.#options.region)
      await exchange.readBody()
      const answer = await route.handle(exchange)
      this.#closeIfLast(exchange)
      streamed = answer.stream !== undefined
      if (route.websocket === true && answer.stream !== undefined && this.#websockets.wants(raw)) {
        upgraded = true
        await this.#websockets.send(raw, response, answer.stream, () => exchange.abort())
      } else {
        await sendReply(this.#rules, exchange, answer)
      }
    } catch (error) {
      await this.#fail(exchange, error)
    } finally {
      exchange.close()
      this.#underWay.take(place)
      if (admitted) this.#connections.leave(raw.socket)
      if (this.#underWay.size === 0) this.#onIdle?.()
      const status = upgraded ? 101 : response.headersSent ? response.statusCode : 0
      const durationMs = this.#options.clock.monotonicMs() - startMs
      this.#observers.of(route)(status, durationMs, streamed || exchange.blocking)
    }
  }

  async #fail(exchange: Exchange, error: unknown): Promise<void> {
    const { response } = exchange
    if (response.destroyed || response.headersSent) {
      // Half an answer must not look like a whole one.
      response.destroy()
      return
    }
    if (codeOf(error) === 'internal') {
      const stack = error instanceof Error ? (error.stack ?? null) : null
      const { requestId, path } = exchange
      this.#options.log.error('a request failed', { requestId, path, error: textOf(error), stack })
    }
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    const last = this.#closeIfLast(exchange)
    const { lingerBytesMax: bytesMax, lingerMs: ms } = this.#limits
    const { clock } = this.#options
    await sendError(this.#rules, exchange, error, () =>
      last ? readAway(exchange.request, { bytesMax, ms, clock }) : null,
    )
  }

  /** A body that was not read to its end is in the way of the next request: the connection ends after this one. */
  #closeIfLast(exchange: Exchange): boolean {
    const { request, response } = exchange
    const unread = !request.complete && !request.readableEnded && announcesBody(request)
    if (unread || this.#stopping) response.setHeader('Connection', 'close')
    return unread
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route
  }
}

const noQuery = Object.freeze({})

/** Stands in for a path that cannot be decoded, so that its request is bounded and answered like any other. */
const brokenPath: Route = {
  method: 'GET',
  path: '/*',
  body: 'none',
  anyRegion: true,
  handle() {
    throw new HttpRefusal(400, 'the path has a broken percent escape or a part that is too long')
  },
}

/** Stands in for paths and methods that no route has. */
function unknownRoute(table: RouteTable): Route {
  return {
    method: 'GET',
    path: '/*',
    body: 'none',
    anyRegion: true,
    handle(request) {
      const path = decodePath(request.path)
      const allowed = table.methodsOf(path)
      if (allowed.length === 0) return emptyNotFound(path)
      const { type, body } = errorBody(path, hasJsonErrors(path) ? '' : 'Invalid method')
      return { status: 405, type, text: body, headers: { Allow: allowed.join(', ') } }
    },
  }
}

function emptyNotFound(path: string): ApiReply {
  if (!hasJsonErrors(path)) return { status: 404 }
  const { type, body } = errorBody(path, '')
  return { status: 404, type, text: body }
}

function neverReached(): never {
  throw new MusterError('internal', 'the engine takes requests over before their handler')
}

/** Proxies send whole URLs: what counts is what follows the host. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const path = url.replace(/^https?:\/\/[^/?]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

function refuseControlCharacters(path: string): void {
  if (/%(?:[01][0-9a-f]|7f)/i.test(path)) {
    throw new HttpRefusal(400, 'the path has a control character in it')
  }
}

/** No server of another region is ever asked from here. The text is the one that tools of the peer look for. */
function refuseOtherRegion(exchange: Exchange, own: string): void {
  if (!exchange.hasSearch) return
  const region = exchange.search.text('region') ?? ''
  if (region !== '' && region !== own) throw new HttpRefusal(500, 'No path to region')
}
