/** What a route answered, or what went wrong, as an HTTP response. */
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Clock } from '../lib/clock.ts'
import type { SharedResult } from '../rpc/shared-reads.ts'
import { errorReply, hasJsonErrors } from './errors.ts'
import { Head } from './head.ts'
import { acceptsGzip, type ReplyNames } from './headers.ts'
import { decodeJsonExact, encodeJson } from './json.ts'
import type { Departures } from './leaving.ts'
import { smallAnswerBytes, type Held, type Outgoing } from './outgoing.ts'
import { requestIdHeader } from './request-id.ts'
import type { Exchange } from './request.ts'
import type { ApiReply } from './route.ts'
import { SharedBody } from './shared-body.ts'
import { jsonArray, readAhead, sendStream } from './streams.ts'

export type ReplyRules = {
  readonly names: ReplyNames
  /** Bodies up to this size are never compressed. */
  readonly gzipBytesMin: number
  /** A client that takes nothing for this long is dropped. */
  readonly stallMs: number
  readonly outgoing: Outgoing
  readonly departures: Departures
  readonly clock: Clock
}

/** A list up to this length is written whole, and nothing of its rows is kept while it is sent. */
const wholeLengthMax = 1_048_576
/** Counted for a longer list while it streams: what was read ahead of it. */
const streamedBytes = wholeLengthMax

/** As routes write it. */
const cacheControl = 'Cache-Control'

const gzipAsync = promisify(gzip)

/** Resolves when the response is handed over, or its stream has ended. May throw. */
export function sendReply(rules: ReplyRules, exchange: Exchange, reply: ApiReply): Promise<void> {
  const { shared } = exchange
  const isText = reply.rows !== undefined || reply.json !== undefined || reply.jsonOf !== undefined
  return shared === null || !isText
    ? sendOwn(rules, exchange, reply)
    : sendToMany(rules, exchange, reply, shared)
}

async function sendToMany(
  rules: ReplyRules,
  exchange: Exchange,
  reply: ApiReply,
  shared: SharedResult,
): Promise<void> {
  if (await sendShared(rules, exchange, reply, shared)) return
  exchange.readAlone()
  await sendOwn(rules, exchange, await exchange.route.handle(exchange))
}

/** No async function, nor is what it ends in for most: each would cost a small answer a turn of its own. */
function sendOwn(rules: ReplyRules, exchange: Exchange, reply: ApiReply): Promise<void> {
  if (reply.rows !== undefined) return sendRows(rules, exchange, reply, reply.rows)
  if (reply.stream !== undefined) return sendStreamed(rules, exchange, reply, reply.stream)
  const { json = reply.jsonOf?.() } = reply
  if (json !== undefined || reply.encoded !== undefined) {
    const text = jsonText(json, reply.encoded, exchange.pretty)
    const head = headOf(rules, exchange, reply, reply.type ?? 'application/json')
    return sendBody(
      rules,
      exchange,
      head,
      text,
      text === reply.encoded ? reply.encodedBytes : undefined,
    )
  }
  if (reply.text !== undefined) {
    const head = headOf(rules, exchange, reply, reply.type ?? 'text/plain; charset=utf-8')
    return sendBody(rules, exchange, head, reply.text)
  }
  if (reply.bytes !== undefined) {
    const head = headOf(rules, exchange, reply, reply.type ?? 'application/octet-stream')
    return sendBody(rules, exchange, head, reply.bytes)
  }
  return sendEmpty(rules, exchange, headOf(rules, exchange, reply, reply.type ?? null))
}

async function sendStreamed(
  rules: ReplyRules,
  exchange: Exchange,
  reply: ApiReply,
  stream: NonNullable<ApiReply['stream']>,
): Promise<void> {
  const { response } = exchange
  // What is passed on has the type that it came with, or none.
  const type = reply.type ?? (reply.lines === undefined ? 'application/octet-stream' : null)
  headOf(rules, exchange, reply, type).prepare(response)
  if (exchange.request.method === 'HEAD') {
    await endUnread(stream)
    response.end()
    return
  }
  await sendStream(response, stream, { ...rules, gzip: false })
}

function jsonText(json: unknown, encoded: string | undefined, pretty: boolean): string {
  if (encoded === undefined) return encodeJson(json, pretty)
  return pretty ? encodeJson(decodeJsonExact(Buffer.from(encoded)), true) : encoded
}

/** The headers of a read are there even on its errors: a client that waits for something absent needs the index. */
export async function sendError(
  rules: ReplyRules,
  exchange: Exchange,
  error: unknown,
  /** What has to be over before the connection may end; the answer is out by then. */
  linger: () => Promise<void> | null,
): Promise<void> {
  const { response } = exchange
  const { status, type, body, text, retryAfter } = errorReply(
    error,
    exchange.path,
    exchange.requestId,
  )
  exchange.refusal = text
  const head = headOf(rules, exchange, { status }, type)
  if (retryAfter !== null) head.set('Retry-After', String(retryAfter))
  head.set('Content-Length', Buffer.byteLength(body))
  const shown = exchange.request.method === 'HEAD' ? '' : body
  const rest = linger()
  if (rest === null) {
    return rules.departures.leave({ response, head, body: shown, counted: null })
  }
  head.writeTo(response)
  response.flushHeaders()
  if (shown !== '') response.write(shown)
  await rest
  response.end()
}

function headOf(rules: ReplyRules, exchange: Exchange, reply: ApiReply, type: string | null): Head {
  const { contact } = exchange
  const isOfSecrets = hasJsonErrors(exchange.path)
  const names = isOfSecrets ? rules.names.secrets : rules.names.others
  const head = new Head(reply.status ?? 200, rules.clock)
  head.set(requestIdHeader, exchange.requestId)
  if (exchange.extraHeaders !== null) head.add(exchange.extraHeaders)
  if (type !== null) head.set('Content-Type', type)
  const index = reply.index ?? exchange.index
  if (index !== null) head.setAll(names.index, index)
  if (contact !== null) head.addMade(names.contactLines(contact))
  if (reply.nextToken) head.setAll(names.nextToken, reply.nextToken)
  if (reply.contentHash !== undefined) head.setAll(names.contentHash, reply.contentHash)
  if (reply.filtered === true) {
    const { withToken, without } = names.filtered
    if (exchange.token !== null) head.setAll(withToken, 'true')
    else if (reply.filteredForAll === true) head.setAll(without, 'true')
  }
  const { headers = {} } = reply
  for (const name in headers) head.set(name, headers[name] ?? '')
  if (reply.lines !== undefined) head.add(reply.lines)
  // Good answers there say so themselves, refusals and unknown paths do not.
  if (isOfSecrets && headers[cacheControl] === undefined) {
    if (reply.lines === undefined || !head.has('cache-control')) head.set(cacheControl, 'no-store')
  }
  return head
}

/** What is passed on may say so already. */
function varyByEncoding(head: Head): void {
  if (!head.variesBy('accept-encoding')) head.set('Vary', 'Accept-Encoding')
}

function sendBody(
  rules: ReplyRules,
  exchange: Exchange,
  head: Head,
  body: string | Uint8Array,
  length = typeof body === 'string' ? Buffer.byteLength(body) : body.length,
): Promise<void> {
  if (length > rules.gzipBytesMin && !head.has('content-encoding')) {
    varyByEncoding(head)
    if (acceptsGzip(exchange.request.headers['accept-encoding'])) {
      return sendGzipped(rules, exchange, head, body)
    }
  }
  return sendWhole(rules, exchange, head, body, length)
}

async function sendGzipped(
  rules: ReplyRules,
  exchange: Exchange,
  head: Head,
  body: string | Uint8Array,
): Promise<void> {
  const gzipped = await gzipAsync(body, { level: constants.Z_BEST_SPEED })
  head.set('Content-Encoding', 'gzip')
  await sendWhole(rules, exchange, head, gzipped, gzipped.length)
}

/** `length` in bytes. */
function sendWhole(
  { outgoing, departures }: ReplyRules,
  exchange: Exchange,
  head: Head,
  body: string | Uint8Array,
  length: number,
): Promise<void> {
  const { response } = exchange
  head.set('Content-Length', length)
  if (exchange.request.method === 'HEAD') {
    return departures.leave({ response, head, body: '', counted: null })
  }
  outgoing.assertRoom(length)
  const counted =
    length > smallAnswerBytes ? { held: outgoing.hold(length), outgoing, taker: exchange } : null
  return departures.leave({ response, head, body, counted })
}

/** False: it is too long to be shared. */
async function sendShared(
  rules: ReplyRules,
  exchange: Exchange,
  reply: ApiReply,
  result: SharedResult,
): Promise<boolean> {
  const { outgoing, departures } = rules
  const { response, request } = exchange
  const body = SharedBody.of(outgoing, result, reply, exchange.pretty)
  const plain = await body.plain()
  if (plain === null) return false
  const head = headOf(rules, exchange, reply, reply.type ?? 'application/json')
  let sent = plain
  if (plain.bytes.length > rules.gzipBytesMin && !head.has('content-encoding')) {
    varyByEncoding(head)
    if (acceptsGzip(request.headers['accept-encoding'])) {
      sent = await body.gzipped(plain)
      head.set('Content-Encoding', 'gzip')
    }
  }
  head.set('Content-Length', sent.bytes.length)
  if (request.method === 'HEAD') {
    head.writeTo(response)
    response.end()
    return true
  }
  const counted = { held: sent.hold(), outgoing, taker: exchange }
  await departures.leave({ response, head, body: sent.bytes, counted })
  return true
}

function sendEmpty({ departures }: ReplyRules, { response }: Exchange, head: Head): Promise<void> {
  // 204 and 304 have no body by definition, so no length either.
  if (head.status !== 204 && head.status !== 304) head.set('Content-Length', 0)
  return departures.leave({ response, head, body: '', counted: null })
}

/** A short list is a plain body with its length; a long one streams. */
async function sendRows(
  rules: ReplyRules,
  exchange: Exchange,
  reply: ApiReply,
  rows: AsyncIterable<readonly unknown[]>,
): Promise<void> {
  const { response, request } = exchange
  const lengthMax = request.method === 'HEAD' ? 0 : wholeLengthMax
  const made = await readAhead(jsonArray(rows, exchange.pretty), lengthMax)
  const head = headOf(rules, exchange, reply, reply.type ?? 'application/json')
  if ('whole' in made) {
    await sendBody(rules, exchange, head, made.whole)
    return
  }
  const gzipped = acceptsGzip(request.headers['accept-encoding'])
  varyByEncoding(head)
  if (gzipped) head.set('Content-Encoding', 'gzip')
  head.prepare(response)
  if (request.method === 'HEAD') {
    await made.stream.return(undefined)
    response.end()
    return
  }
  const { outgoing } = rules
  let held: Held | null = null
  try {
    outgoing.assertRoom(streamedBytes)
    held = outgoing.hold(streamedBytes)
  } catch (error) {
    await made.stream.return(undefined)
    throw error
  }
  try {
    await sendStream(response, made.stream, { ...rules, gzip: gzipped })
  } finally {
    held.release()
  }
}

async function endUnread(source: AsyncIterable<unknown>): Promise<void> {
  await source[Symbol.asyncIterator]().return?.()
}
