/**
 * The HTTP server: one Fastify app behind any number of listeners. This file owns the sockets, admits requests within bounds, runs the
 * route and stops in order. The routes come from the domains.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { assert } from '../lib/assert.ts'
import { within } from '../lib/async.ts'
import { ChurnMap } from '../lib/churn-map.ts'
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import { stackTraceOf } from '../lib/stack-trace.ts'
import type { Dispatcher } from '../rpc/dispatch.ts'
import { auditedRequest, identityOf, noAudit, notAuditable, type RequestAudit } from './audit.ts'
import { announcesBody, BodyReader, readAway } from './body.ts'
import { type Admission, Browsers, type BrowserSettings, noBrowserSettings } from './browsers.ts'
import { clientOf } from '../lib/client-address.ts'
import { ClientLimits, type ClientLimitSettings, noClientLimits } from './client-limits.ts'
import { Connections } from './connections.ts'
import { dialectOf, speak } from './dialect.ts'
import { isServerFailure } from './errors.ts'
import { type HeaderPrefix, replyNames } from './headers.ts'
import { defaultHttpLimits, type HttpLimits } from './http-limits.ts'
import { waitsForContinue } from './incoming.ts'
import { Departures } from './leaving.ts'
import { listAlias } from './list-method.ts'
import { ListRequests } from './list-requests.ts'
import { type Listen, makeListener, startListening } from './listener.ts'
import { Outgoing } from './outgoing.ts'
import { RouteObservers, type ObserverOf } from './observer.ts'
import { sendError, sendReply, type ReplyRules } from './reply.ts'
import {
  assertWanted,
  originForm,
  refuseControlCharacters,
  refuseOtherRegion,
  refuseVaultNamespace,
  refuseWrapping,
} from './request-checks.ts'
import { requestIdHeader, RequestIds } from './request-id.ts'
import { logRequest } from './request-log.ts'
import { Exchange, type ExchangeContext } from './request.ts'
import { pathOf, withoutTrailingSlash } from './request-path.ts'
import type { Route } from './route.ts'
import { noParameters, RouteTable, type Found } from './route-table.ts'
import { brokenPath, unknownRoute } from './stand-in-routes.ts'
import { websocketPathsOf } from './websocket-paths.ts'
import { asksForWebSocket, WebSockets } from './websockets.ts'

export type HttpServerOptions = Pick<ExchangeContext, 'knowsAgent'> & {
  readonly routes: readonly Route[]
  readonly dispatcher: Dispatcher
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Of this server: requests for another one are refused. */
  readonly region: string
  /** Reply headers are emitted under these besides the own prefix. Default: those of Consul, Nomad and Vault. */
  readonly aliases?: readonly HeaderPrefix[]
  readonly limits?: Partial<HttpLimits>
  /** Default: nobody is told. */
  readonly observerOf?: ObserverOf
  /** Of each client. Default: none. */
  readonly clientLimits?: ClientLimitSettings
  readonly audit?: RequestAudit
  /** What pages in browsers may ask for. Default: pages of this listener alone, by address or as `localhost`. */
  readonly browsers?: BrowserSettings
  /** Counts what clients have not taken. Default: one of its own. */
  readonly outgoing?: Outgoing
  /** What answers where no route does. Default: 404 and 405. */
  readonly elsewhere?: Elsewhere
}

export type Elsewhere = {
  readonly route: Route
  /** Where it may answer with a WebSocket. */
  readonly websocketPaths: readonly string[]
  /** What a page of any site may GET, as `Route.public`. */
  readonly publicPaths: readonly string[]
}

export class HttpServer {
  /** For `inject` in tests. */
  readonly app: FastifyInstance
  readonly #options: HttpServerOptions
  readonly #limits: HttpLimits
  readonly #table: RouteTable
  readonly #unknown: Route
  readonly #rules: ReplyRules
  readonly #context: ExchangeContext
  readonly #outgoing: Outgoing
  readonly #connections: Connections
  readonly #lists: ListRequests
  readonly #clientLimits: ClientLimits
  readonly #audit: RequestAudit
  readonly #observers: RouteObservers
  readonly #bodies: BodyReader
  readonly #websockets: WebSockets
  readonly #isWebSocketPath: (path: string) => boolean
  readonly #browsers: Browsers
  readonly #servers = new Set<Server>()
  readonly #underWay = new ChurnMap<number, Exchange>()
  #arrived = 0
  readonly #ids = new RequestIds()
  #stopping = false
  #onIdle: (() => void) | null = null

  constructor(options: HttpServerOptions) {
    this.#options = options
    const limits = { ...defaultHttpLimits, ...options.limits }
    this.#limits = limits
    this.#outgoing = options.outgoing ?? new Outgoing(limits)
    this.#table = new RouteTable(options.routes)
    this.#unknown = options.elsewhere?.route ?? unknownRoute(this.#table)
    this.#connections = new Connections(limits, options.clock)
    this.#lists = new ListRequests(this.#table, this.#connections.lists)
    this.#clientLimits = new ClientLimits(options.clientLimits ?? noClientLimits)
    this.#audit = options.audit ?? noAudit
    this.#observers = new RouteObservers(options.routes, options.observerOf ?? (() => () => {}))
    this.#bodies = new BodyReader(options.clock, limits)
    this.#isWebSocketPath = websocketPathsOf([
      ...options.routes.filter(({ websocket }) => websocket === true).map(({ path }) => path),
      ...(options.elsewhere?.websocketPaths ?? []),
    ])
    this.#websockets = new WebSockets(options.clock, limits.stallMs)
    const names = replyNames(options.aliases ?? ['X-Consul-', 'X-Nomad-', 'X-Vault-'])
    this.#browsers = new Browsers(options.browsers ?? noBrowserSettings, {
      exposed: [requestIdHeader, 'Retry-After', ...names.others.all],
      publicPaths: [
        ...options.routes.filter((route) => route.public === true).map(({ path }) => path),
        ...(options.elsewhere?.publicPaths ?? []),
      ],
    })
    this.#rules = {
      names,
      gzipBytesMin: limits.gzipBytesMin,
      stallMs: limits.stallMs,
      outgoing: this.#outgoing,
      departures: new Departures(),
      clock: options.clock,
    }
    this.#context = {
      ...options,
      bodies: this.#bodies,
      bodyBytesMax: limits.bodyBytesMax,
      asksForWebSocket: (request) => this.#websockets.wants(request),
    }
    this.app = this.#buildApp()
  }

  /** Requests that are not answered to their end, blocking queries among them. */
  get underWayCount(): number {
    return this.#underWay.size
  }

  /** What was refused because there was too much of it, by limit. */
  get refused() {
    return {
      ...this.#clientLimits.refused,
      connections: this.#connections.refusedCount,
      bodies: this.#bodies.budget.refusedCount,
      answers: this.#outgoing.refusedCount,
    }
  }

  /** Of answers that clients have not taken. */
  get answerBytes(): number {
    return this.#outgoing.bytes
  }

  /** From now on; what is under way goes on. */
  configureClientLimits(
    limits: ClientLimitSettings & { readonly connectionsPerClientMax: number },
  ): void {
    this.#clientLimits.configure(limits)
    this.#connections.configure(limits)
  }

  /** From now on; WebSockets and streams that are open go on. */
  configureBrowsers(settings: BrowserSettings): void {
    this.#browsers.configure(settings)
  }

  /** Opens one more listener; resolves with its port once it takes connections. */
  async listen(listen: Listen): Promise<number> {
    assert(!this.#stopping, 'the HTTP server is stopping')
    await this.app.ready()
    const { host, certificate = null, dialect } = listen
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
      if (dialect !== undefined) speak(dialect, request.headers)
      this.#connections.take(request.socket, response)
      this.app.routing(request, response)
    }
    const server = makeListener(certificate, this.#limits, {
      upgrades: (request) => {
        const isTaken = this.#upgrades(request)
        if (!isTaken) this.#connections.lists.asksInVain(request.socket)
        return isTaken
      },
      onRequest,
      onUpgrade: (request, socket, head) => {
        onRequest(request, this.#websockets.prepare(request, socket, head))
      },
    })
    this.#connections.watch(server)
    const port = await startListening(server, listen)
    server.on('error', (error) =>
      this.#options.log.error('listener failed', { error: error.message }),
    )
    this.#servers.add(server)
    this.#browsers.listen(host, certificate)
    return port
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
    this.#websockets.leave()
    if (this.#underWay.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#onIdle = resolve
      await within(promise, this.#options.clock, graceMs)
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
      genReqId: (request: IncomingMessage) => this.#ids.of(request),
      // Routes are found in the table of this server. Fastify's router has nothing to look for.
      rewriteUrl: () => '/',
      // The query string is read by `search.ts`, when a route asks.
      routerOptions: { querystringParser: () => noQuery },
    })
    // Every request leaves Fastify's path here, before bodies and content types.
    app.addHook('onRequest', (request, reply) => {
      const { raw, originalUrl } = request
      raw.url = withoutTrailingSlash(originForm(originalUrl))
      this.#serve(this.#found(raw), request, reply)
    })
    app.addHttpMethod(listAlias)
    app.all('/', neverReached)
    return app
  }

  #found(request: IncomingMessage): Found {
    try {
      const listed = this.#lists.find(request)
      if (listed !== null) return listed
      const { method = 'GET', url = '/', headers } = request
      const found = this.#table.find(method, pathOf(url), dialectOf(headers))
      return found ?? { route: this.#unknown, parameters: noParameters }
    } catch {
      return { route: brokenPath, parameters: noParameters }
    }
  }

  /** Fastify's request and reply end here: what waits for a change keeps neither. */
  #serve({ route, parameters }: Found, request: FastifyRequest, reply: FastifyReply): void {
    reply.hijack()
    const { raw, id, originalUrl } = request
    const response = reply.raw
    const exchange = new Exchange(this.#context, route, raw, response, parameters, id)
    this.#arrived += 1
    const number = this.#arrived
    this.#underWay.set(number, exchange)
    response.on('close', () => {
      this.#connections.free(raw.socket, response)
      this.#outgoing.unwatch(response)
      exchange.taken()
      if (!response.writableFinished) exchange.abort()
    })
    void this.#answer(exchange, number, originalUrl)
  }

  async #answer(exchange: Exchange, number: number, originalUrl: string): Promise<void> {
    const { route, request: raw, response } = exchange
    const startMs = this.#options.clock.monotonicMs()
    let streamed = false
    let upgraded: number | null = null
    const place = this.#connections.enter(raw.socket, exchange)
    const { log } = this.#options
    const told = this.#audit.enabled || log.listens('debug')
    let identity = told ? identityOf(exchange, this.#audit) : null
    if (told && route.websocket === true) {
      exchange.onIdentified = () => (identity = identityOf(exchange, this.#audit))
    }
    let audited = this.#audit.enabled
    try {
      if (place === null || this.#underWay.size > this.#limits.requestsMax) {
        throw new MusterError('overloaded', 'too many requests are under way here, try later')
      }
      const turn = this.#connections.turn(place)
      if (turn !== null) {
        await turn
        assertWanted(exchange)
      }
      if (this.#audit.refusing) {
        audited = false
        throw notAuditable()
      }
      if (this.#clientLimits.enabled) this.#limit(exchange, startMs)
      const admission = this.#admitBrowser(originalUrl, exchange)
      if (exchange.path.includes('%')) refuseControlCharacters(exchange.path)
      refuseWrapping(exchange)
      refuseVaultNamespace(exchange)
      if (route.anyRegion !== true) refuseOtherRegion(exchange, this.#options.region)
      if (admission?.isPreflight === true) {
        this.#closeIfLast(exchange)
        await sendReply(this.#rules, exchange, { status: 204 })
        return
      }
      const settling = exchange.settle()
      if (settling !== null) await settling
      const reading = exchange.readBody()
      if (reading !== null) await this.#whole(exchange, reading)
      const answer = await route.handle(exchange)
      this.#closeIfLast(exchange)
      streamed = answer.stream !== undefined || answer.converse !== undefined
      if (streamed) {
        exchange.release()
        if (place !== null) place.streams = true
      }
      if (route.websocket === true && this.#websockets.takes(raw, answer)) {
        upgraded = await this.#websockets.answer(exchange, answer, () => exchange.abort())
      } else {
        await sendReply(this.#rules, exchange, answer)
      }
    } catch (error) {
      await this.#fail(exchange, error)
    } finally {
      exchange.close()
      this.#underWay.take(number)
      if (place !== null) this.#connections.leave(place)
      if (this.#underWay.size === 0) this.#onIdle?.()
      const status = upgraded ?? (response.headersSent ? response.statusCode : 0)
      const durationMs = this.#options.clock.monotonicMs() - startMs
      this.#observers.of(route)(status, durationMs, streamed || exchange.blocking)
      if (identity !== null) {
        const known = this.#table.has(route) ? route.path : null
        const ended = auditedRequest(exchange, { ...identity, route: known, status, durationMs })
        if (audited) this.#audit.record(ended)
        if (log.listens('debug')) logRequest(log, ended)
      }
    }
  }

  /**
   * Nobody reads the connection of such a request until it is a WebSocket, nor hears that the client has gone: so only
   * where there may be one. And an answer that an earlier request still waits for is in its way: it goes on as HTTP.
   */
  #upgrades(request: IncomingMessage): boolean {
    return (
      asksForWebSocket(request) &&
      this.#isWebSocketPath(pathOf(originForm(request.url ?? '/'))) &&
      this.#connections.isFree(request.socket)
    )
  }

  #admitBrowser(originalUrl: string, exchange: Exchange): Admission | null {
    const admission = this.#browsers.admit(exchange.request, originalUrl, exchange)
    exchange.extraHeaders = admission?.headers ?? null
    return admission
  }

  #limit(exchange: Exchange, nowMs: number): void {
    const client = this.#connections.clientOf(exchange.request.socket) ?? clientOf(exchange.remote)
    const counted = this.#clientLimits.enter(client, nowMs)
    if (counted !== null) exchange.countedUntil(() => this.#clientLimits.leave(counted))
  }

  async #whole({ route, request }: Exchange, reading: Promise<void>): Promise<void> {
    try {
      await reading
    } catch (error) {
      if (route.headDecides !== true || codeOf(error) !== 'too_large') throw error
      // The connection ends after the answer, and a client that still sends would not see it.
      if (!waitsForContinue(request)) await this.#readAway(request)
    }
  }

  async #fail(exchange: Exchange, error: unknown): Promise<void> {
    const { response } = exchange
    if (response.destroyed || response.headersSent) {
      // Half an answer must not look like a whole one.
      response.destroy()
      return
    }
    this.#logFailure(exchange, error)
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    const last = this.#closeIfLast(exchange)
    await sendError(this.#rules, exchange, error, () =>
      last ? this.#readAway(exchange.request) : null,
    )
  }

  #readAway(request: IncomingMessage): Promise<void> {
    const { lingerBytesMax: bytesMax, lingerMs: ms } = this.#limits
    return readAway(request, { bytesMax, ms, clock: this.#options.clock })
  }

  /** What is found by its request's id: a defect with its place, and what a server could not do when it was asked. */
  #logFailure({ requestId, path }: Exchange, error: unknown): void {
    const { log } = this.#options
    const [code, text] = [codeOf(error), textOf(error)]
    if (code === 'internal') {
      const stack = stackTraceOf(error)
      log.error('a request failed', { requestId, path, error: text, stack })
    } else if (isServerFailure(error)) {
      log.debug('a request could not be served', { requestId, path, code, error: text })
    }
  }

  /** A body that was not read to its end is in the way of the next request: the connection ends after this one. */
  #closeIfLast(exchange: Exchange): boolean {
    const { request, response } = exchange
    const unread = !request.complete && !request.readableEnded && announcesBody(request)
    if (unread || this.#stopping) response.setHeader('Connection', 'close')
    return unread
  }
}

const noQuery = Object.freeze({})

function neverReached(): never {
  throw new MusterError('internal', 'the engine takes requests over before their handler')
}
