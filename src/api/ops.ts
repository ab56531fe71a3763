/**
 * The ops listeners: for load balancers, supervisors and collectors of metrics, at addresses of their own, without tokens.
 * `/health` says with its status alone whether this process should get traffic; `/metrics` is Prometheus' text.
 */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from '../lib/http.ts'
import { createServer as createSecureServer } from 'node:https'
import type { Certificate } from '../lib/certificate.ts'
import type { Socket } from 'node:net'
import { MusterError, textOf } from '../lib/errors.ts'
import { refuseExpectations } from './expectations.ts'

export type MetricsText = { readonly type: string; readonly text: string }

export type OpsOptions = {
  /** True while this server can do its work. Asked once per request, so it only looks. */
  readonly healthy: () => boolean
  readonly metrics: () => Promise<MetricsText>
}

export type OpsListen = {
  readonly host: string
  readonly port: number
  /** Absent: plain HTTP. */
  readonly certificate?: Certificate
}

const headMs = 5_000
const keepAliveMs = 75_000
/** Per listener; beyond it connections are closed without an answer. */
const connectionsMax = 1_024
const headBytesMax = 8_192
/** Requests of one connection that are not answered to the last byte; collectors ask one after the other. */
const unansweredMax = 4
/** A connection that takes nothing of its answer for this long is closed. */
const stalledMs = 30_000

const textType = 'text/plain; charset=utf-8'

export class OpsServer {
  readonly #options: OpsOptions
  readonly #servers: Server[] = []
  /** Under way: scrapes that arrive meanwhile get the same text. */
  #metrics: Promise<MetricsText> | null = null
  readonly #unanswered = new WeakMap<Socket, number>()

  constructor(options: OpsOptions) {
    this.#options = options
  }

  /** Opens one more listener; resolves to the port. Rejects with `unavailable` when it cannot be had. */
  async listen({ host, port, certificate }: OpsListen): Promise<number> {
    const options = {
      maxHeaderSize: headBytesMax,
      headersTimeout: headMs,
      requestTimeout: headMs,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: keepAliveMs,
    }
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      this.#answer(request, response)
    }
    const secure = { ...options, ...certificate?.options, handshakeTimeout: headMs }
    const server =
      certificate === undefined ? createServer(options, handle) : createSecureServer(secure, handle)
    if ('setSecureContext' in server) certificate?.serve(server)
    server.maxConnections = connectionsMax
    server.timeout = stalledMs
    refuseExpectations(server)
    this.#servers.push(server)
    return new Promise((resolve, reject) => {
      server.once('error', (error) => {
        const text = `cannot listen on ${host}:${port} for ops: ${textOf(error)}; ports.ops or a listener block names another port`
        reject(new MusterError('unavailable', text, { cause: error }))
      })
      server.listen({ host, port }, () => {
        const address = server.address()
        // Without descriptors to spare `accept` fails; connections that exist go on.
        server.on('error', () => {})
        resolve(typeof address === 'object' && address !== null ? address.port : port)
      })
    })
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map(close))
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    request.resume()
    if (!this.#enter(request.socket, response)) return
    const [path] = (request.url ?? '').split('?')
    if (path !== '/health' && path !== '/metrics') {
      send(response, 404, { type: textType, text: 'there is /health and /metrics here' })
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD')
      send(response, 405, { type: textType, text: 'Invalid method' })
    } else if (path === '/health') {
      response.setHeader('Cache-Control', 'no-store')
      response.writeHead(this.#options.healthy() ? 200 : 503, { 'Content-Length': 0 }).end()
    } else {
      this.#render().then(
        (metrics) => send(response, 200, metrics),
        () => send(response, 500, { type: textType, text: 'the metrics could not be gathered' }),
      )
    }
  }

  /** False: its client asks without reading, and is gone. */
  #enter(socket: Socket, response: ServerResponse): boolean {
    const count = (this.#unanswered.get(socket) ?? 0) + 1
    if (count > unansweredMax) {
      socket.destroy()
      return false
    }
    this.#unanswered.set(socket, count)
    response.once('close', () => {
      this.#unanswered.set(socket, (this.#unanswered.get(socket) ?? 1) - 1)
    })
    return true
  }

  #render(): Promise<MetricsText> {
    this.#metrics ??= this.#options.metrics().finally(() => {
      this.#metrics = null
    })
    return this.#metrics
  }
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}

/** Node leaves out the body of an answer to HEAD. */
function send(response: ServerResponse, status: number, { type, text }: MetricsText): void {
  const bytes = Buffer.from(text)
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': bytes.length }).end(bytes)
}
