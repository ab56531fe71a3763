/** Requests to one server over kept-alive connections, each with a deadline, and what their failure means. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { Agent as SecureAgent, request as httpsRequest } from 'node:https'

export type Reply = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type RequestOptions = {
  readonly body?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
  /** From the call to the last byte of the reply. */
  readonly timeoutMs?: number
}

/** No whole reply came. */
export class RequestFailure extends Error {
  override readonly name = 'RequestFailure'
  /** False: nobody listened, so the server surely never saw the request. */
  readonly maybeArrived: boolean

  constructor(message: string, maybeArrived: boolean, cause?: unknown) {
    super(message, { cause })
    this.maybeArrived = maybeArrived
  }
}

export const requestTimeoutMs = 10_000

export class HttpClient {
  readonly #port: number
  readonly #agent: Agent
  readonly #send: typeof httpRequest

  /**
   * `from`: the address to connect from, for a client that is told apart from others on this machine. `ca`: the
   * authority in PEM whose certificate the server must show; without it the client speaks plain HTTP.
   */
  constructor(port: number, connectionsMax = 2048, from?: string, ca?: string) {
    this.#port = port
    const options = {
      keepAlive: true,
      maxSockets: connectionsMax,
      ...(from !== undefined && { localAddress: from }),
    }
    // Without a `servername` the certificate would have to be for the Host header, which some tests make up.
    this.#agent =
      ca === undefined ? new Agent(options) : new SecureAgent({ ...options, ca, servername: '' })
    this.#send = ca === undefined ? httpRequest : httpsRequest
  }

  /** Resolves with any whole reply, whatever its status. Rejects with RequestFailure. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Reply> {
    const { body, headers = {}, timeoutMs = requestTimeoutMs } = options
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(timeoutMs)
      const fail = (error: NodeJS.ErrnoException): void => {
        const text = signal.aborted ? `no reply within ${timeoutMs} ms` : error.message
        const refused = error.code === 'ECONNREFUSED'
        reject(new RequestFailure(`${method} ${path}: ${text}`, !refused, error))
      }
      const sent = this.#send(
        {
          host: '127.0.0.1',
          port: this.#port,
          agent: this.#agent,
          method,
          path,
          signal,
          headers:
            body === undefined
              ? headers
              : { 'content-length': Buffer.byteLength(body), ...headers },
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', fail)
          response.on('end', () => {
            const { statusCode = 0, headers } = response
            resolve({ status: statusCode, headers, body: Buffer.concat(chunks) })
          })
        },
      )
      sent.on('error', fail)
      sent.end(body)
    })
  }

  /** The JSON of a 200. Anything else throws. */
  async json(method: string, path: string, options: RequestOptions = {}): Promise<unknown> {
    const reply = await this.request(method, path, options)
    if (reply.status !== 200) {
      throw new Error(`${method} ${path}: status ${reply.status}: ${reply.body.toString()}`)
    }
    return JSON.parse(reply.body.toString()) as unknown
  }

  close(): void {
    this.#agent.destroy()
  }
}
