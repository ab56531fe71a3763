/** Requests to one server over kept-alive connections, each with a deadline, and what their failure means. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { Agent as SecureAgent, request as httpsRequest } from 'node:https'

import type { CheckedReply, CheckedRequest } from './reply-shapes.ts'

export type Reply = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** In processes that set it: looks at every whole reply, for one that its route does not describe. */
export const replyCheck: {
  faultOf: ((request: CheckedRequest, reply: CheckedReply) => Error | null) | null
} = { faultOf: null }

/** Of replies that are looked at: a longer one takes time that tests of clusters measure. */
const checkedBytesMax = 262_144

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
            const reply = {
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(chunks),
            }
            const fault = faultOf({ method, url: path, headers }, reply)
            if (fault === null) resolve(reply)
            else reject(fault)
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

/** Null: nothing is looked at, or the reply is as it should be. */
export function faultOf(request: CheckedRequest, { status, headers, body }: Reply): Error | null {
  if (replyCheck.faultOf === null || body.length > checkedBytesMax) return null
  if (headers['content-encoding'] !== undefined) return null
  const lower = Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value])
  const asked = { ...request, headers: Object.fromEntries(lower) as CheckedRequest['headers'] }
  return replyCheck.faultOf(asked, { status, headers, body: body.toString() })
}
