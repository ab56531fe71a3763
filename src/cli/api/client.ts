/** One agent's HTTP API: JSON there and back, and streams for snapshots. */
import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from '../../lib/http.ts'
import { request as httpsRequest } from 'node:https'
import { once } from 'node:events'
import { MusterError, type ErrorCode } from '../../lib/errors.ts'
import type { Call } from '../verb.ts'
import { parseJson, printJson, type Json } from '../../lib/exact-json.ts'
import { gather } from '../../lib/gather.ts'
import { connected, isUnreached } from './connecting.ts'
import { readSettings, type Settings } from './settings.ts'
import type { Line } from './websocket.ts'

/** An agent that says nothing for this long will not. Servers wait for a leader for less. */
export const silenceMsMax = 60_000
/** A restore is applied on all servers between its last byte and its answer. */
const restoreMsMax = 30 * 60_000
const answerBytesMax = 256 * 1024 * 1024
const errorBytesMax = 64 * 1024
const errorTextMax = 1_000

/** A list is given once for each of its texts. */
export type Search = Readonly<
  Record<string, string | number | readonly string[] | null | undefined>
>

export type Answer = {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Null for an empty body. */
  readonly json: Json
}

export type Ask = {
  /** Entries that are null or undefined are left out. */
  readonly search?: Search
  readonly json?: Json
  /** Sent as they are, instead of JSON. */
  readonly bytes?: Uint8Array
  /** Until the answer is whole; without it only silence is bounded. */
  readonly timeoutMs?: number
  /** No caller waits for the answer any more. */
  readonly signal?: AbortSignal
  /** Statuses that are answers here, beside 2xx. */
  readonly also?: readonly number[]
}

/** An agent that answered, and refused. */
export class ApiRefusal extends MusterError {
  readonly status: number

  constructor(status: number, text: string) {
    super(codeByStatus[status] ?? 'unavailable', text)
    this.status = status
  }
}

const codeByStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_argument',
  403: 'permission_denied',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  413: 'too_large',
  501: 'not_implemented',
  504: 'timeout',
}

/** Commands live for one or two requests: each has its own connection, and nothing is left to close. */
export class ApiClient {
  readonly #settings: Settings
  /** Of the addresses, the one that was reached last. */
  #at = 0

  constructor(settings: Settings) {
    this.#settings = settings
  }

  static async open(call: Call): Promise<ApiClient> {
    return new ApiClient(await readSettings(call))
  }

  /** One for each server that is named. */
  static async openAll(call: Call): Promise<readonly ApiClient[]> {
    const settings = await readSettings(call)
    return settings.addresses.map((address) => new ApiClient({ ...settings, addresses: [address] }))
  }

  get settings(): Settings {
    return this.#settings
  }

  /** Of the agent that is asked. */
  get address(): URL {
    const { addresses } = this.#settings
    return addresses[this.#at] ?? addresses[0]
  }

  async get(path: string, search: Search = {}): Promise<Json> {
    return (await this.ask('GET', path, { search })).json
  }

  /** Throws `ApiRefusal` for statuses that are no answer, `unavailable` when no server answers. */
  async ask(method: string, path: string, ask: Ask = {}): Promise<Answer> {
    const body = ask.bytes ?? (ask.json === undefined ? null : Buffer.from(printJson(ask.json)))
    const signal = ask.timeoutMs === undefined ? ask.signal : within(ask.timeoutMs, ask.signal)
    const response = await this.#send(
      method,
      path,
      ask.search ?? {},
      (request) => {
        if (ask.json !== undefined) request.setHeader('Content-Type', 'application/json')
        request.end(body ?? undefined)
      },
      signal,
    )
    const status = response.statusCode ?? 0
    if (ask.also?.includes(status) !== true) await this.#refuseFailed(response)
    return { status, headers: response.headers, json: await this.#json(response) }
  }

  /** A WebSocket, at the agent that answered last. */
  async openLine(path: string, search: Search = {}): Promise<Line> {
    const { address } = this
    const url = `${address.protocol.replace('http', 'ws')}//${address.host}${this.#target(path, search)}`
    const { Host: _, ...headers } = this.#headers()
    const tls = address.protocol === 'https:' ? this.#tls() : {}
    try {
      const { openLine } = await import('./websocket.ts')
      const line = await openLine({ url, headers, tls })
      if ('send' in line) return line
      await this.#refuseFailed(line)
      throw new MusterError('incompatible', 'the agent opened no WebSocket')
    } catch (error) {
      throw this.#failed('no answer from', error)
    }
  }

  /** The body as it comes. */
  async download(path: string, search: Search = {}): Promise<AsyncIterable<Uint8Array>> {
    const response = await this.#send('GET', path, search, (request) => void request.end())
    await this.#refuseFailed(response)
    return this.#body(response)
  }

  async upload(path: string, search: Search, body: AsyncIterable<Uint8Array>): Promise<Json> {
    const response = await this.#send('PUT', path, search, (request) => {
      request.setTimeout(restoreMsMax)
      request.setHeader('Content-Type', 'application/octet-stream')
      void writeAll(request, body)
    })
    await this.#refuseFailed(response)
    return this.#json(response)
  }

  /** Asks one address after another until one is reached; a read also where an agent hung up without an answer. */
  async #send(
    method: string,
    path: string,
    search: Search,
    write: (request: ClientRequest) => void,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const { addresses } = this.#settings
    const failures: string[] = []
    for (;;) {
      const isLast = failures.length + 1 >= addresses.length
      try {
        return await this.#sendOnce(method, path, search, write, { signal, isLast })
      } catch (error) {
        const mayGoOn = isUnreached(error) || (method === 'GET' && signal?.aborted !== true)
        const failure = this.#failed('no answer from', error, plainHint(error, this.address))
        if (addresses.length === 1 || !mayGoOn) throw failure
        failures.push(failure.message)
        this.#at = (this.#at + 1) % addresses.length
        if (isLast) throw new MusterError('unavailable', failures.join('; '), { cause: error })
      }
    }
  }

  async #sendOnce(
    method: string,
    path: string,
    search: Search,
    write: (request: ClientRequest) => void,
    { signal, isLast }: { readonly signal: AbortSignal | undefined; readonly isLast: boolean },
  ): Promise<IncomingMessage> {
    const { address } = this
    const secure = address.protocol === 'https:'
    const options: RequestOptions = {
      method,
      host: address.hostname.replace(/^\[|\]$/g, ''),
      port: address.port === '' ? (secure ? 443 : 80) : address.port,
      path: this.#target(path, search),
      headers: this.#headers(),
      agent: false,
      timeout: silenceMsMax,
      ...(signal !== undefined && { signal }),
      ...(secure && this.#tls()),
    }
    const request = secure ? httpsRequest(options) : httpRequest(options)
    // Heard below until the answer comes; whatever fails to be sent after that does not matter.
    request.on('error', () => {})
    request.on('timeout', () => request.destroy(new Error('it takes too long to answer')))
    // Nothing is taken from a body that comes as a stream before its reader is there.
    await connected(request, { secure, isLast })
    const answered = once(request, 'response')
    write(request)
    const [response] = (await answered) as [IncomingMessage]
    return response
  }

  #tls() {
    const { tls } = this.#settings
    return {
      rejectUnauthorized: tls.verify,
      ...(tls.ca !== null && { ca: tls.ca }),
      ...(tls.cert !== null && { cert: tls.cert }),
      ...(tls.key !== null && { key: tls.key }),
      ...(tls.serverName !== null && { servername: tls.serverName }),
    }
  }

  #target(path: string, search: Search): string {
    const { region } = this.#settings
    const { address } = this
    const entries = Object.entries({ ...search, region })
    const given = entries.filter(([, value]) => value !== null && value !== undefined)
    const query = new URLSearchParams()
    for (const [name, value] of given) {
      for (const text of Array.isArray(value) ? value : [value]) query.append(name, String(text))
    }
    const text = query.toString()
    return `${address.pathname.replace(/\/$/, '')}${path}${text === '' ? '' : `?${text}`}`
  }

  #headers(): Record<string, string> {
    const { token } = this.#settings
    const { address } = this
    return {
      Host: address.host,
      // The shapes that this program reads, also from a listener that speaks another dialect.
      'X-Service-Dialect': 'nomad',
      ...(token !== null && { 'X-Service-Token': token }),
    }
  }

  async #refuseFailed(response: IncomingMessage): Promise<void> {
    const status = response.statusCode ?? 0
    if (status >= 200 && status < 300) return
    const reason = reasonIn((await this.#all(response, errorBytesMax)).toString('utf8'))
      .replaceAll(/\p{Cc}+/gu, ' ')
      .trim()
      .slice(0, errorTextMax)
    throw new ApiRefusal(
      status,
      reason === ''
        ? `the agent answered ${status} ${response.statusMessage ?? ''}`.trimEnd()
        : `${reason}${this.#regionHint(reason)} (${status})`,
    )
  }

  /** The region may come from an environment that was set for another cluster long ago. */
  #regionHint(reason: string): string {
    const { region } = this.#settings
    if (region === null || reason !== 'No path to region') return ''
    return ` ${JSON.stringify(region)}: the agent is of another one; is MUSTER_REGION set, or NOMAD_REGION?`
  }

  async #json(response: IncomingMessage): Promise<Json> {
    const text = (await this.#all(response, answerBytesMax)).toString('utf8')
    return text === '' ? null : parseJson(text, `the answer of ${this.address.host}`)
  }

  async #all(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
    const bytes = await gather(this.#body(response), bytesMax)
    if (bytes !== null) return bytes
    throw new MusterError('too_large', `the answer is over ${bytesMax} bytes: ask for less`)
  }

  async *#body(response: IncomingMessage): AsyncGenerator<Uint8Array> {
    try {
      yield* response as AsyncIterable<Uint8Array>
    } catch (error) {
      throw this.#failed('the answer broke off from', error)
    }
  }

  #failed(what: string, error: unknown, hint = ''): MusterError {
    if (error instanceof MusterError) return error
    const { origin } = this.address
    const text = `${what} ${origin}: ${reasonOf(error)}${hint}`
    return new MusterError('unavailable', text, { cause: error })
  }
}

function within(timeoutMs: number, signal: AbortSignal | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(Math.ceil(timeoutMs))
  return signal === undefined ? timeout : AbortSignal.any([timeout, signal])
}

/** Never throws: a source that fails destroys the request, whose owner hears of it. */
async function writeAll(request: ClientRequest, body: AsyncIterable<Uint8Array>): Promise<void> {
  const closed = new AbortController()
  request.once('close', () => closed.abort())
  try {
    for await (const chunk of body) {
      if (!request.write(chunk)) await once(request, 'drain', { signal: closed.signal })
    }
    request.end()
  } catch (error) {
    request.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}

/** A path's segments with all that a URL gives a meaning escaped; slashes stay. */
export function escapePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

/** The text itself, or the texts of `{"errors": […]}`. */
function reasonIn(body: string): string {
  if (!body.startsWith('{')) return body
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value === 'object' && value !== null && 'errors' in value) {
      if (Array.isArray(value.errors)) return value.errors.map(String).join('; ')
    }
  } catch {
    // Then it is a text that begins with a brace.
  }
  return body
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; start an agent, or name one with -address or MUSTER_ADDR',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name cannot be looked up now',
  ECONNRESET: 'it broke off the connection',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it speaks no TLS; should the address begin with http://?',
  EPROTO: 'it speaks no TLS; should the address begin with http://?',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is of an authority not trusted here; give -ca-cert',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself; give it as -ca-cert',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate is of an authority not trusted here; give -ca-cert',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its certificate is of an authority not trusted here; give -ca-cert',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  HPE_INVALID_CONSTANT: 'it speaks no plain HTTP; should the address begin with https://?',
}

/** A listener with TLS closes connections without it. */
function plainHint(error: unknown, { protocol }: URL): string {
  return protocol === 'http:' && errorCodeOf(error) === 'ECONNRESET'
    ? '; should the address begin with https://?'
    : ''
}

function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function reasonOf(error: unknown): string {
  const code = errorCodeOf(error)
  const text = error instanceof Error ? error.message : String(error)
  return reasons[code] ?? (text === '' ? code : text)
}
