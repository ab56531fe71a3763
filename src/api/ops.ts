/**
 * The ops listener: for load balancers and supervisors, on a port of its own, without tokens.
 * `/health` says with its status alone whether this process should get traffic; HEAD works too; the body is empty.
 */
import { createServer, type Server } from 'node:http'
import { MusterError, textOf } from '../lib/errors.ts'

export type OpsOptions = {
  /** True while this server can do its work. */
  readonly healthy: () => boolean
}

const headMs = 5_000

export class OpsServer {
  readonly #server: Server

  constructor({ healthy }: OpsOptions) {
    this.#server = createServer(
      { headersTimeout: headMs, requestTimeout: headMs, connectionsCheckingInterval: 1_000 },
      (request, response) => {
        request.resume()
        const path = (request.url ?? '').split('?')[0]
        if (path !== '/health') response.writeHead(404)
        else if (request.method !== 'GET' && request.method !== 'HEAD') {
          response.writeHead(405, { allow: 'GET, HEAD' })
        } else response.writeHead(healthy() ? 200 : 503)
        response.end()
      },
    )
  }

  /** Resolves to the port. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error) => {
        const text = `cannot listen on ${host}:${port} for ops: ${textOf(error)}`
        reject(new MusterError('unavailable', text, { cause: error }))
      })
      this.#server.listen({ host, port }, () => {
        const address = this.#server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : port)
      })
    })
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }
}
