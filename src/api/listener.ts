/** One listening socket of the HTTP server: what Node is told to bound, and what it hands over. */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from '../lib/http.ts'
import { createServer as createSecureServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { assert } from '../lib/assert.ts'
import type { Certificate } from '../lib/certificate.ts'
import type { Dialect } from '../lib/dialects.ts'
import type { HttpLimits } from './http-limits.ts'
import { IncomingRequest } from './incoming.ts'

export type Listen = {
  readonly host: string
  readonly port: number
  /** Absent: plain HTTP. */
  readonly certificate?: Certificate
  /** Of requests that name none. Absent: the default one. */
  readonly dialect?: Dialect
}

export type ListenerHandlers = {
  readonly upgrades: (request: IncomingMessage) => boolean
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void
  readonly onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** How often Node looks for heads that take too long. */
const headSweepMs = 1_000

/** Not listening yet. */
export function makeListener(
  certificate: Certificate | null,
  limits: HttpLimits,
  { upgrades, onRequest, onUpgrade }: ListenerHandlers,
): Server {
  const { headBytesMax, headMs, keepAliveMs, connectionsMax } = limits
  const options = {
    maxHeaderSize: headBytesMax,
    headersTimeout: headMs,
    // Bodies have their own times: a snapshot may take long, but not stand still.
    requestTimeout: 0,
    connectionsCheckingInterval: headSweepMs,
    keepAliveTimeout: keepAliveMs,
    noDelay: true,
    // No stream for a body that no request announces: it costs as much as a small answer.
    optimizeEmptyRequests: true,
    IncomingMessage: IncomingRequest,
    shouldUpgradeCallback: upgrades,
    // Node would refuse it without a word; `Browsers` does.
    requireHostHeader: false,
  }
  const secure = { ...options, ...certificate?.options, handshakeTimeout: headMs }
  const server =
    certificate === null ? createServer(options, onRequest) : createSecureServer(secure, onRequest)
  if ('setSecureContext' in server) certificate?.serve(server)
  server.on('upgrade', onUpgrade)
  // Node would answer 100 before anybody has looked at the request.
  server.on('checkContinue', (request: IncomingRequest, response: ServerResponse) => {
    request.awaitsContinue(() => response.writeContinue())
    onRequest(request, response)
  })
  // A client that has said everything still gets its answers. `Connections` ends what waits for such a client.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.maxConnections = connectionsMax
  return server
}

/** Resolves with the port once it takes connections. */
export async function startListening(
  server: Server,
  { host, port }: Pick<Listen, 'host' | 'port'>,
): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address()
  assert(address !== null && typeof address === 'object', 'a listener has a port')
  return address.port
}
