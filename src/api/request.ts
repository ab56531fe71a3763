/** One request on its way through the engine: what a route sees of it, and what the reply needs to know of it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Static, TSchema } from 'typebox'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import { LazyAbort } from '../lib/lazy-abort.ts'
import type { Random } from '../lib/random.ts'
import type { CallOptions, CallTrace } from '../rpc/call-options.ts'
import type { Dispatcher, Contact } from '../rpc/dispatch.ts'
import type {
  AnyQuery,
  Caller,
  LeaderMethod,
  LocalMethod,
  Query,
  QueryResult,
  StreamMethod,
} from '../rpc/method.ts'
import type { QueryAnswer } from '../rpc/query.ts'
import type { Services } from '../rpc/services.ts'
import type { SharedResult } from '../rpc/shared-reads.ts'
import { plainRead, readOptions, waitMsDefault } from './blocking.ts'
import type { BodyShare } from './body-budget.ts'
import { announcesBody, type BodyReader } from './body.ts'
import { addressOf } from '../lib/client-address.ts'
import { dialectOf } from './dialect.ts'
import type { Dialect } from '../lib/dialects.ts'
import { Fields } from './fields.ts'
import { tokenOf } from './headers.ts'
import { hearAgent, type KnowsAgent } from './passed-on.ts'
import { waitsForContinue } from './incoming.ts'
import { decodeJson } from './json.ts'
import type { Taker } from './leaving.ts'
import type { Held } from './outgoing.ts'
import type { ApiRequest, PlaceOptions, Route, SentRequest } from './route.ts'
import { decodePath, pathOf } from './request-path.ts'
import { bodyBytesMaxOf, bodyKindOf } from './route-body.ts'
import { Search } from './search.ts'

/** What all requests of a server share. */
export type ExchangeContext = {
  readonly dispatcher: Dispatcher
  readonly clock: Clock
  readonly random: Random
  readonly bodies: BodyReader
  readonly bodyBytesMax: number
  readonly asksForWebSocket: (request: IncomingMessage) => boolean
  /** Tells agents that pass requests on. Absent: there are none, and whoever says so is not believed. */
  readonly knowsAgent?: KnowsAgent
}

const noBytes = new Uint8Array(0)

export class Exchange implements ApiRequest, CallTrace, Taker {
  readonly route: Route
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** Whose request it is: of the connection, or of the client whose request an agent passes on. */
  remote: string
  /** Path without the query string, as sent. */
  readonly path: string
  /** The last method that was asked, and whether another server ran it: for the audit log. */
  calledMethod: string | null = null
  forwarded = false
  /** What the client is told went wrong. */
  refusal: string | null = null
  /** Called when the client has said later whose request it is. */
  onIdentified: (() => void) | null = null
  readonly abortSource = new LazyAbort()
  /** Names and values in turn, for the answer whatever it is. */
  extraHeaders: readonly string[] | null = null
  /** Gives back what the request is counted against; null: nothing. */
  #release: (() => void) | null = null
  readonly #context: ExchangeContext
  readonly #parameters: Readonly<Record<string, string | undefined>>
  #search: Search | null = null
  #bytes: Uint8Array = noBytes
  /** What the body holds; null: there is none. */
  #share: BodyShare | null = null
  #json: unknown
  #answers: QueryAnswer[] | null = null
  /** Methods other than reads were called. */
  #called = false
  #from: Caller | null = null
  /** That the client said after its request. */
  #saidToken: string | null = null
  /** Its answer was too long to be shared. */
  #alone = false
  /** Counted until the client has the answer, or is gone. */
  #held: Held | null = null
  #index: number | null = null
  #contact: Contact | null = null
  #blocking = false

  constructor(
    context: ExchangeContext,
    route: Route,
    request: IncomingMessage,
    response: ServerResponse,
    parameters: Readonly<Record<string, string | undefined>>,
    requestId: string,
  ) {
    this.#context = context
    this.route = route
    this.request = request
    this.response = response
    this.#parameters = parameters
    this.requestId = requestId
    this.remote = addressOf(request.socket.remoteAddress)
    this.path = pathOf(request.url ?? '/')
  }

  get method(): string {
    return this.request.method === 'HEAD' ? 'GET' : (this.request.method ?? 'GET')
  }

  get sent(): SentRequest {
    const { method = 'GET', url = '/', headers } = this.request
    const hasBody = announcesBody(this.request)
    return { method, url, headers, hasBody, waitsForContinue: waitsForContinue(this.request) }
  }

  get search(): Search {
    if (this.#search === null) {
      const url = this.request.url ?? ''
      this.#search = new Search(url.slice(this.path.length + 1))
    }
    return this.#search
  }

  /** Cheaper than to parse one that is not there. */
  get hasSearch(): boolean {
    return (this.request.url ?? '').length > this.path.length
  }

  get namespace(): string | null {
    return this.search.text('namespace') || this.search.text('ns') || null
  }

  get token(): string | null {
    return this.#saidToken ?? tokenOf(this.request.headers) ?? (this.search.text('token') || null)
  }

  async identify(token: string): Promise<void> {
    const { token: sent } = this
    if (sent === token) return
    if (sent !== null) {
      const text = 'the token of the first message is not that of the request: send one of them'
      throw new MusterError('invalid_argument', text)
    }
    this.#saidToken = token
    this.#from = null
    this.onIdentified?.()
    await this.#settleUse()
  }

  get dialect(): Dialect {
    return dialectOf(this.request.headers)
  }

  get signal(): AbortSignal {
    return this.abortSource.signal
  }

  get aborted(): boolean {
    return this.abortSource.aborted
  }

  /** It asked to wait for a change. */
  get blocking(): boolean {
    return this.#blocking
  }

  /** Of the read that this request made; null for one that made none. */
  get index(): number | null {
    return this.#index
  }

  get contact(): Contact | null {
    return this.#contact
  }

  /** The client asked for indented JSON. A broken query string asks for nothing. */
  get pretty(): boolean {
    try {
      if (this.search.empty || !this.search.has('pretty')) return false
      return this.route.switches === 'presence' || this.search.flag('pretty')
    } catch {
      return false
    }
  }

  parameter(name: string): string {
    const value = this.#parameters[name]
    if (value !== undefined) return value
    throw new AssertionError(`route ${this.route.path} has no parameter ${name}`)
  }

  /** Taken from the path as sent: a router may fold what must stay different. */
  get tail(): string {
    const { path } = this.route
    if (!path.endsWith('/*')) throw new AssertionError(`route ${path} has no tail`)
    let start = 0
    for (let at = 0; at < path.length; at += 1) {
      if (path[at] === '/') start = this.path.indexOf('/', start) + 1
    }
    return decodePath(this.path.slice(start))
  }

  get asksForWebSocket(): boolean {
    return this.#context.asksForWebSocket(this.request)
  }

  header(name: string): string | null {
    const value = this.request.headers[name]
    return (Array.isArray(value) ? value[0] : value) ?? null
  }

  get json(): unknown {
    return this.#json
  }

  fields(): Fields {
    return new Fields(this.#json, { anyCase: true })
  }

  get bytes(): Uint8Array {
    return this.#bytes
  }

  stream(): AsyncIterable<Uint8Array> {
    const share = this.#beginBody()
    return this.#context.bodies.stream(this.request, { bytesMax: this.#bodyBytesMax, share })
  }

  query<Args extends TSchema, Value>(
    method: Query<Args, Value>,
    args: Static<Args>,
  ): Promise<QueryResult<Value>> {
    try {
      return this.#query(method, args) as Promise<QueryResult<Value>>
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** While it waits, little more than the promise of its answer is left of this. */
  #query(method: AnyQuery, args: unknown): Promise<QueryAnswer> {
    const { dispatcher, random } = this.#context
    const options = readOptions(this.search, {
      waitMsMax: this.route.waitMsMax ?? waitMsDefault,
      byPresence: this.route.switches === 'presence',
      random,
    })
    const stale = options.consistency === 'stale'
    // What may throw comes before the read: nobody would hear how that ends.
    const ageMsMax = (stale && this.search.durationMs('max_stale')) || Infinity
    const first = this.#answers === null
    const blocking = options.minIndex > 0
    const shares = blocking || method.long === true
    this.calledMethod = method.name
    const asked = dispatcher.query(
      method,
      args,
      this.#caller(),
      // A second read of the same request must not wait for a second change.
      first && !this.#alone ? options : { ...options, minIndex: 0 },
      shares && first && !this.#alone
        ? { signal: this.abortSource, shape: this.#shape() }
        : { signal: this.abortSource },
    )
    if (blocking) this.beginWaiting()
    if (ageMsMax === Infinity) return asked.then((answer) => this.#answered(answer, first, stale))
    return asked.then((answer) => {
      if (dispatcher.contact().lastContactMs <= ageMsMax) return this.#answered(answer, first, true)
      answer.close()
      const signal = { signal: this.abortSource }
      const again = dispatcher.query(method, args, this.#caller(), plainRead, signal)
      return again.then((fresh) => this.#answered(fresh, first, false))
    })
  }

  #answered(answer: QueryAnswer, first: boolean, stale: boolean): QueryAnswer {
    if (this.#answers === null) this.#answers = [answer]
    else this.#answers.push(answer)
    if (first) this.#index = answer.index
    const contact = this.#context.dispatcher.contact()
    this.#contact = stale ? contact : { ...contact, lastContactMs: 0 }
    return answer
  }

  /** Set when others who ask for the same get the same answer, and nothing but it went into the reply. */
  get shared(): SharedResult | null {
    if (this.#called || this.#answers === null || this.#answers.length !== 1) return null
    return this.#answers[0]?.shared ?? null
  }

  /** From the beginning again, for its client alone; what was to be waited for has come. */
  readAlone(): void {
    if (this.shared !== null) this.shared.tooLong = true
    if (this.#answers !== null) for (const answer of this.#answers) answer.close()
    this.#answers = null
    this.#alone = true
  }

  /** All of the request that its reply may follow from, but for whose it is and what it waits for. */
  #shape(): string {
    const { method, path } = this.route
    const search = (this.request.url ?? '').slice(this.path.length + 1)
    const rest = search.split('&').filter((part) => !/^(index|wait|token)=/i.test(part))
    return `${this.dialect} ${method} ${path} ${this.path}?${rest.join('&')}`
  }

  beginWaiting(): void {
    this.#blocking = true
    this.release()
    // Read once more if it is needed: of many that wait it would be a good part.
    this.#search = null
  }

  get clock(): Clock {
    return this.#context.clock
  }

  get service(): Services['get'] {
    return this.#context.dispatcher.services.get
  }

  call<Args extends TSchema, Value>(
    method: LeaderMethod<Args, Value> | LocalMethod<Args, Value>,
    args: Static<Args>,
    options: PlaceOptions = {},
  ): Promise<Value> {
    this.calledMethod = method.name
    this.#called = true
    const { dispatcher } = this.#context
    try {
      const called = dispatcher.call(method, args, this.#caller(), this.#bounds(options))
      return called as Promise<Value>
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async open<Args extends TSchema, Item>(
    method: StreamMethod<Args, Item>,
    args: Static<Args>,
    options: PlaceOptions = {},
  ): Promise<AsyncIterableIterator<Item>> {
    this.calledMethod = method.name
    const { dispatcher } = this.#context
    const opened = dispatcher.open(method, args, this.#caller(), this.#bounds(options))
    return (await opened) as AsyncIterableIterator<Item>
  }

  /**
   * Reads what the route wants of the body; a body nobody wants is read too, for the next request comes after it. Null: there
   * is nothing to be read.
   */
  readBody(): Promise<void> | null {
    const kind = bodyKindOf(this.route)
    return kind === 'stream' || !announcesBody(this.request) ? null : this.#readWhole(kind)
  }

  async #readWhole(kind: ReturnType<typeof bodyKindOf>): Promise<void> {
    this.#bytes = await this.#context.bodies.read(this.request, {
      bytesMax: this.#bodyBytesMax,
      share: this.#beginBody(),
      admit: () => this.#admitLarge(),
    })
    // Null reads as absent, for the whole body as for a member.
    if (kind === 'json') this.#json = decodeJson(this.#bytes) ?? undefined
  }

  /** The client went away, or the server stops. */
  abort(): void {
    this.abortSource.abort()
  }

  /** `release` is called once: when the request begins to wait for a change or to stream, else at its end. */
  countedUntil(release: () => void): void {
    this.#release = release
  }

  /** It goes on for as long as it likes, and is no longer counted. */
  release(): void {
    const release = this.#release
    this.#release = null
    release?.()
  }

  takes(held: Held): void {
    this.#held = held
  }

  /** The client has the answer, or is gone. */
  taken(): void {
    this.#held?.release()
    this.#held = null
  }

  /** Gives back what its reads still hold. */
  close(): void {
    this.release()
    if (this.#share !== null) this.#context.bodies.budget.release(this.#share)
    if (this.#answers !== null) for (const answer of this.#answers) answer.close()
  }

  #beginBody(): BodyShare {
    this.#share ??= { bytes: 0, large: false }
    return this.#share
  }

  #admitLarge(): Promise<void> | null {
    const { atLeast } = this.route
    return atLeast === undefined ? null : this.#context.dispatcher.admit(this.#caller(), atLeast)
  }

  get #bodyBytesMax(): number {
    return bodyBytesMaxOf(this.route, this.#context.bodyBytesMax)
  }

  #bounds({ at = null, node = null, timeoutMs }: PlaceOptions): CallOptions {
    const bounds = { signal: this.abortSource, at, node, trace: this }
    if (timeoutMs === undefined) return bounds
    return { ...bounds, deadlineMs: this.#context.clock.monotonicMs() + timeoutMs }
  }

  /** One for the whole request: it counts as one use of its token, whatever it asks. */
  #caller(): Caller {
    this.#from ??= { token: this.token, remote: this.remote, requestId: this.requestId }
    return this.#from
  }

  /** Whose request it is, and a use of the token, before it is handled. Null: there is nothing to wait for. */
  settle(): Promise<unknown> | null {
    const hearing = hearAgent(this.#context.knowsAgent, this)
    return hearing === null ? this.#settleUse() : hearing.then(() => this.#settleUse())
  }

  #settleUse(): Promise<unknown> | null {
    const { dispatcher } = this.#context
    if (this.route.permission === 'none' || dispatcher.settle === undefined) return null
    const caller = this.#caller()
    return caller.token === null ? null : dispatcher.settle(caller)
  }
}
