/**
 * The HTTP engine: listeners, headers, blocking queries, errors, streams. It knows HTTP and no domain.
 * `api` may import `lib`, `rpc`, Fastify and WebSocket packages; domains' `routes.ts` import `api`.
 *
 * This file is the contract by which a domain gives routes: what a route is, what it is handed, what it gives back.
 * The invariant the folder guards: whatever a client sends, it gets one clear answer and harms nobody else.
 */
import type { Static, TSchema } from 'typebox'
import type { Clock } from '../lib/clock.ts'
import type { AbortSource } from '../lib/lazy-abort.ts'
import type { Contact } from '../rpc/dispatch.ts'
import type {
  LeaderMethod,
  LeastRight,
  LocalMethod,
  Query,
  QueryResult,
  StreamMethod,
} from '../rpc/method.ts'
import type { Services } from '../rpc/services.ts'
import type { MessageSocket } from '../rpc/uplink-channels.ts'
import type { Dialect } from '../lib/dialects.ts'
import type { Fields } from './fields.ts'
import type { Search } from './search.ts'
import type { RouteDescription } from './shape.ts'

/** For routes that take a few fields: names, references, switches. */
export const smallBodyBytesMax = 65_536

export type RouteMethod = 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH' | 'LIST'

/** What it serves and how. A route of a domain is a `DescribedRoute`. */
export type Route = Partial<RouteDescription> & {
  /**
   * PUT and POST are one: whichever is named here, both are served, but for `switches`. GET serves HEAD too. LIST serves GET
   * with `list=true` as well, and goes before a route for GET there.
   */
  readonly method: RouteMethod
  /**
   * `/v1/node/:id/drain`, or `/v1/var/*` for everything below, slashes included. Of several that fit, segment by segment: one
   * that is written out goes before a parameter, and a parameter before `*`.
   */
  readonly path: string
  /** Serves requests of this dialect alone, and goes before a route that has none. Default: every request. */
  readonly dialect?: Dialect
  /**
   * none: a body is read and ignored. json: the content type is not looked at. bytes: `request.bytes`.
   * stream: `request.stream()`, unbounded but for `bodyBytesMax` and an idle timeout. Default: none on GET and LIST, else json.
   */
  readonly body?: 'none' | 'json' | 'bytes' | 'stream'
  /** Beyond this: 413. Default: the server's; 64 KiB on DELETE and for a body that is ignored. */
  readonly bodyBytesMax?: number
  /**
   * A client that may do none of these to anything is refused before more than 64 KiB of a body are read; the method that
   * is asked decides on the very thing. For `json` and `bytes` beyond 64 KiB: a test sees to it that each route says so.
   */
  readonly atLeast?: readonly LeastRight[]
  /** Longest time a blocking query may wait, jitter apart. Default 5 minutes. */
  readonly waitMsMax?: number
  /**
   * presence: `?stale=false` switches on as well, and PUT and POST are two, as clients of Consul expect.
   * Default: boolean words.
   */
  readonly switches?: 'boolean' | 'presence'
  /** Answers for this process alone, whatever `region` a client sends. Default: another region is refused. */
  readonly anyRegion?: boolean
  /**
   * Served over WebSocket as well: a client that asks for one gets every chunk of the reply's `stream` as a message.
   * A reply without a stream, and every error, is plain HTTP and opens no WebSocket.
   */
  readonly websocket?: boolean
  /**
   * A GET of it tells what any page in a browser may know, changes nothing and costs little: pages of other sites may cause it,
   * though not read the answer. For paths without parameters. Default: refused.
   */
  readonly public?: boolean
  /** A GET of it changes something: refused where a browser may have sent it for an image, a link or a redirect. Default: not. */
  readonly changesByGet?: boolean
  /** Its answer follows from the head alone: a body that is too long is thrown away instead of refused. Default: not. */
  readonly headDecides?: boolean
  handle(request: ApiRequest): ApiReply | Promise<ApiReply>
}

/** It says the same to people and to tools: OpenAPI, docs/api.md, tests. */
export type DescribedRoute = Route & RouteDescription

export type SentRequest = {
  /** Also HEAD. */
  readonly method: string
  /** Path and query string. */
  readonly url: string
  /** By their lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly hasBody: boolean
  /** The client holds its body back until it is told to send it, which the first read of the body does. */
  readonly waitsForContinue: boolean
}

export interface ApiRequest {
  /** As sent. HEAD arrives as GET. */
  readonly method: string
  /** As sent, without the query string. */
  readonly path: string
  /** The request as it came, for a proxy that passes it on. */
  readonly sent: SentRequest
  /** Path parameter, percent-decoded once. Throws an assertion if the route does not name it. */
  parameter(name: string): string
  /** What `*` stands for, percent-decoded once (`%2F` is `/`); doubled and trailing slashes are as they were sent. */
  readonly tail: string
  /** The query string. */
  readonly search: Search
  /** `namespace` of the query, or `ns`, its other name; null when neither is given or both are empty. */
  readonly namespace: string | null
  /** From `X-Service-Token`, an alias of it, or `Authorization: Bearer`. */
  readonly token: string | null
  /**
   * The client says only now whose request it is, on a WebSocket: browsers send no headers of their own with one. That is a use of
   * the token. Throws `invalid_argument` where the request came with another one, and as any request with a token may.
   */
  identify(token: string): Promise<void>
  readonly remote: string
  readonly requestId: string
  /** In whose shapes the client wants the answer, where products differ. */
  readonly dialect: Dialect
  /** A stream in reply to it leaves as messages. An `Upgrade` header alone says no such thing. */
  readonly asksForWebSocket: boolean
  /** A header by its lower-case name. */
  header(name: string): string | null

  /** Parsed JSON of the body; undefined when the body is empty. */
  readonly json: unknown
  /** The body as a JSON object, names of members in any letter case. 400 when it is empty or not an object. */
  fields(): Fields
  /** The body of a `bytes` route. */
  readonly bytes: Uint8Array
  /** The body of a `stream` route, once. */
  stream(): AsyncIterable<Uint8Array>

  /** Aborted when the client goes away or the server stops. */
  readonly signal: AbortSignal
  /** The same, where the signal itself may never be needed. */
  readonly abortSource: AbortSource
  /** Another process runs it, as the audit log says. */
  forwarded: boolean
  /** From now on it waits on purpose: it is counted against no limit, and its duration says nothing. */
  beginWaiting(): void

  readonly clock: Clock
  /** Of this process. */
  readonly service: Services['get']

  /**
   * Runs a read with the consistency, `index` and `wait` of this request; the reply gets its index and contact headers,
   * also when the route answers 404. A method reports an absent row as a value (null), not as an error, so that there
   * is an index to block on.
   */
  query<Args extends TSchema, Value>(
    method: Query<Args, Value>,
    args: Static<Args>,
  ): Promise<QueryResult<Value>>
  /** What this server knew of the leader at the request's last read; null before one. */
  readonly contact: Contact | null
  /** Runs a leader or local method. */
  call<Args extends TSchema, Value>(
    method: LeaderMethod<Args, Value> | LocalMethod<Args, Value>,
    args: Static<Args>,
    options?: PlaceOptions,
  ): Promise<Value>
  /**
   * Opens a stream; refusals reject, so they still have a status. The iterator goes into a reply's `stream`, through
   * other iterators if need be, or is read to its end, or its `return` is called. It ends when the client goes away.
   */
  open<Args extends TSchema, Item>(
    method: StreamMethod<Args, Item>,
    args: Static<Args>,
    options?: PlaceOptions,
  ): Promise<AsyncIterableIterator<Item>>
}

export type PlaceOptions = {
  /** The server that runs a local method or a stream: id, name or `leader`. Default, also null: this one. */
  readonly at?: string | null
  /** The node whose client agent runs it. */
  readonly node?: string | null
  /** How long it may take, for a stream to be opened. Default: the dispatcher's. */
  readonly timeoutMs?: number
}

/** What is said to what a client says, message by message; ends soon after the request's signal, whether or not it is read to its end. */
export type Conversation = (messages: AsyncIterable<string>) => AsyncIterable<string>

/** At most one of json, jsonOf, encoded, text, bytes, rows, stream, carry, converse. None: an empty body. */
export type ApiReply = {
  /** Default 200. */
  readonly status?: number
  /** Plain data. Bigints print as integers. Times in nanoseconds: see `nanoseconds` of `json.ts`. */
  readonly json?: unknown
  /** Makes `json`; not called when it was written already for another who asked for the same. */
  readonly jsonOf?: () => unknown
  /** The serialized form of `json`, from a cache. */
  readonly encoded?: string
  /** Of `encoded` in UTF-8, where it is known: else the text is gone through. */
  readonly encodedBytes?: number
  readonly text?: string
  readonly bytes?: Uint8Array
  /** A JSON array, written page by page; nothing but the page at hand is held. */
  readonly rows?: AsyncIterable<readonly unknown[]>
  /** Chunks as they come, with back-pressure; ends when the client goes away. */
  readonly stream?: AsyncIterable<Uint8Array | string>
  /**
   * Of a request that asked for a WebSocket, on a route that serves one: takes the connection, for as long as both sides like. The
   * request is over with that.
   */
  readonly carry?: (socket: MessageSocket) => void
  /** The same, but the request goes on: until its answers end, which ends the connection, or the client goes away. */
  readonly converse?: Conversation
  /** Content type; json and rows, text, and bytes have theirs by default. */
  readonly type?: string
  /** For `X-Service-Index`; a read has it from `query` already, which this overrides. */
  readonly index?: number
  readonly nextToken?: string | null
  /** For `X-Service-ContentHash`: of a read that waits by the hash of its answer, where there is no index. */
  readonly contentHash?: string
  /** What the caller may not see was left out. Default: nothing was. */
  readonly filtered?: boolean
  /**
   * `filtered` is said to a request without a token as well. Elsewhere it is not: whoever asks with one prefix after the other would
   * learn the names of what is there.
   */
  readonly filteredForAll?: boolean
  readonly headers?: Readonly<Record<string, string>>
  /** The same as names and values in turn, beside those. */
  readonly lines?: readonly string[]
}
