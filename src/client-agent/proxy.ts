/**
 * Requests that a client agent passes on to a server as they came, and answers as they were given: everything that is not
 * about the agent itself. The servers decide who may do what; the agent only carries the token.
 */
import { dialectHeader } from '../api/dialect.ts'
import { headersOfAgent, passedOnHeaders, type Agent } from '../api/passed-on.ts'
import { requestIdHeader } from '../api/request-id.ts'
import type { ApiReply, ApiRequest, Route, SentRequest } from '../api/route.ts'
import type { HttpAddress } from '../lib/host-port.ts'
import { wholeBytesMax } from './exchange.ts'
import { bytesOf, expectation, headerOf, type Answer, type Ask, type Upstream } from './upstream.ts'
import { openWebSocket, type OpenWebSocket } from './upstream-websocket.ts'

/**
 * Of one connection (RFC 9110, 7.6.1), or made anew by this agent. Whether a page in a browser may ask is judged here, where
 * the browser's own host and origin are known: the server is asked by this agent.
 */
const ownRequestHeaders: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'host',
  'keep-alive',
  'origin',
  'proxy-connection',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'sec-fetch-user',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  requestIdHeader.toLowerCase(),
  ...passedOnHeaders,
])
const ownAnswerHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-type',
  'date',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
  requestIdHeader.toLowerCase(),
])

export class ApiProxy {
  readonly #upstream: Upstream
  readonly #onLeaderless: (place: HttpAddress) => void
  readonly #self: Agent | null

  /**
   * `onLeaderless`: a server said that it sees no leader, so others may know more. `self`: proves to the servers that this is an
   * agent, which says whose request each is; null: they take all for this agent's own.
   */
  constructor(
    upstream: Upstream,
    onLeaderless: (place: HttpAddress) => void,
    self: Agent | null = null,
  ) {
    this.#upstream = upstream
    this.#onLeaderless = onLeaderless
    this.#self = self
  }

  /** Serves whatever it is given: for paths that this agent has no route for. */
  readonly route: Route = {
    method: 'GET',
    path: '/*',
    anyRegion: true,
    websocket: true,
    body: 'stream',
    // The server that it comes to has the bound.
    bodyBytesMax: Number.MAX_SAFE_INTEGER,
    handle: (request) => this.pass(request),
  }

  /** `isRead`: the body was, and is of no use. */
  async pass(request: ApiRequest, isRead = false): Promise<ApiReply> {
    request.forwarded = true
    const { sent } = request
    const { method, waitsForContinue: waits } = sent
    const url = urlOf(sent)
    const hasBody = sent.hasBody && !isRead
    const headers = this.#headersOf(request, sent)
    if (!hasBody) delete headers['content-length']
    // Whatever the method: a body without a length or chunks would be read as the next request.
    else if (!('content-length' in headers)) headers['transfer-encoding'] = 'chunked'
    if (request.search.has('index')) request.beginWaiting()
    if (request.asksForWebSocket) {
      const { signal } = request
      const opened = await openWebSocket(this.#upstream, { url, headers: plain(headers), signal })
      return 'status' in opened ? this.#replyOf(opened, method) : { stream: opened.messages }
    }
    const body = hasBody ? await bodyOf(request) : null
    // The server is asked before the client is told to send: it may refuse the request before anybody sends the body.
    if (waits && body !== null && !(body instanceof Uint8Array)) headers['expect'] = expectation
    return this.#send({ method, url, headers, body, signal: request.abortSource })
  }

  /** A request that asks for a WebSocket on which both sides say something. */
  async converse(request: ApiRequest): Promise<ApiReply> {
    request.forwarded = true
    const { signal, sent } = request
    const opened = await openWebSocket(this.#upstream, {
      url: urlOf(sent),
      headers: plain(this.#headersOf(request, sent)),
      signal,
    })
    return 'status' in opened
      ? this.#replyOf(opened, sent.method)
      : { converse: (messages) => relayed(messages, opened) }
  }

  /** As `pass`, with another body. */
  passWith(request: ApiRequest, json: unknown): Promise<ApiReply> {
    const body = Buffer.from(JSON.stringify(json))
    const { sent, abortSource: signal } = request
    const headers = this.#headersOf(request, sent)
    headers['content-length'] = String(body.length)
    request.forwarded = true
    return this.#send({ method: sent.method, url: urlOf(sent), headers, body, signal })
  }

  #headersOf(request: ApiRequest, sent: SentRequest): Headers {
    const headers = headersOf(request, sent)
    return this.#self === null
      ? headers
      : Object.assign(headers, headersOfAgent(this.#self, request.remote))
  }

  async #send(ask: Ask): Promise<ApiReply> {
    return this.#replyOf(await this.#upstream.ask(ask), ask.method)
  }

  #replyOf(answer: Answer, method: string): ApiReply | Promise<ApiReply> {
    const { status, body, place } = answer
    const isWhole = Buffer.isBuffer(body) || (method !== 'HEAD' && isShort(answer))
    const lines: string[] = []
    let type: string | undefined
    // As they were written, letter case and all.
    for (let at = 0; at + 1 < answer.lines.length; at += 2) {
      const name = answer.lines[at] ?? ''
      const value = answer.lines[at + 1] ?? ''
      const key = name.toLowerCase()
      if (key === 'content-type') type = value
      else if (key === 'x-service-knownleader' && value === 'false') this.#onLeaderless(place)
      if (!ownAnswerHeaders.has(key) && !(isWhole && key === 'content-length')) {
        lines.push(name, value)
      }
    }
    const reply = { status, lines, ...(type !== undefined && { type }) }
    const withBytes = (bytes: Uint8Array): ApiReply =>
      bytes.length === 0 ? reply : { ...reply, bytes }
    if (Buffer.isBuffer(body)) return withBytes(body)
    if (!isWhole) return { ...reply, stream: body as AsyncIterable<Uint8Array> }
    return bytesOf(answer, wholeBytesMax).then(withBytes)
  }
}

function isShort(answer: Answer): boolean {
  return Number(headerOf(answer, 'content-length') ?? Infinity) <= wholeBytesMax
}

type Headers = Record<string, string | readonly string[]>

/** Of a handshake that this agent makes itself. */
function plain(headers: Ask['headers']): Ask['headers'] {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.startsWith('sec-websocket-')),
  )
}

async function* relayed(
  heard: AsyncIterable<string>,
  { messages, send }: OpenWebSocket,
): AsyncGenerator<string, void> {
  const hear = async (): Promise<void> => {
    for await (const message of heard) await send(message)
  }
  void hear()
  for await (const message of messages) {
    yield typeof message === 'string' ? message : Buffer.from(message).toString('utf8')
  }
}

async function bodyOf(request: ApiRequest): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const length = Number(request.header('content-length') ?? Infinity)
  if (!(length <= wholeBytesMax)) return request.stream()
  const pieces: Uint8Array[] = []
  for await (const piece of request.stream()) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** As sent; bytes that may not stand in a request line are written as what they are. */
function urlOf({ url }: SentRequest): string {
  return url.replaceAll(/[^\x21-\x7e]/g, (byte) => {
    return `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
}

function headersOf({ requestId, dialect }: ApiRequest, sent: SentRequest): Headers {
  const headers: Headers = {}
  for (const name in sent.headers) {
    const value = sent.headers[name]
    if (value !== undefined && !ownRequestHeaders.has(name)) headers[name] = value
  }
  headers[requestIdHeader.toLowerCase()] = requestId
  headers[dialectHeader] = dialect
  return headers
}
