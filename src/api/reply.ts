/** What a route answered, or what went wrong, as an HTTP response. */
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../lib/clock.ts'
import { errorReply } from './errors.ts'
import { acceptsGzip, type ReplyHeaderNames } from './headers.ts'
import { decodeJsonExact, encodeJson } from './json.ts'
import { requestIdHeader } from './request-id.ts'
import type { Exchange } from './request.ts'
import type { ApiReply } from './route.ts'
import { dropStalled, jsonArray, readAhead, sendStream } from './streams.ts'

export type ReplyRules = {
  readonly names: ReplyHeaderNames
  /** Bodies up to this size are never compressed. */
  readonly gzipBytesMin: number
  /** A client that takes nothing for this long is dropped. */
  readonly stallMs: number
  readonly clock: Clock
}

/** Beyond this, a body stays in memory long enough to watch the client take it. */
const largeBytes = 65_536

const gzipAsync = promisify(gzip)

/** A response's head before it is written: Node takes names and values in one flat list fastest. */
class Head {
  readonly status: number
  readonly lines: string[] = []

  constructor(status: number) {
    this.status = status
  }

  set(name: string, value: string): void {
    this.lines.push(name, value)
  }

  setAll(names: readonly string[], value: string): void {
    for (const name of names) this.lines.push(name, value)
  }

  has(name: string): boolean {
    return this.lines.some((line, at) => at % 2 === 0 && line.toLowerCase() === name)
  }

  writeTo(response: ServerResponse): void {
    response.writeHead(this.status, this.lines)
  }

  /** As `writeTo`, when the first piece of the body may still turn out to be an error. */
  prepare(response: ServerResponse): void {
    response.statusCode = this.status
    for (let at = 0; at + 1 < this.lines.length; at += 2) {
      // A name may stand there twice.
      response.appendHeader(this.lines[at] ?? '', this.lines[at + 1] ?? '')
    }
  }
}

/** Resolves when the response is handed over, or its stream has ended. */
export async function sendReply(
  rules: ReplyRules,
  exchange: Exchange,
  reply: ApiReply,
): Promise<void> {
  const { response } = exchange
  if (reply.rows !== undefined) {
    await sendRows(rules, exchange, reply, reply.rows)
    return
  }
  if (reply.stream !== undefined) {
    headOf(rules, exchange, reply, reply.type ?? 'application/octet-stream').prepare(response)
    if (exchange.request.method === 'HEAD') {
      await endUnread(reply.stream)
      response.end()
      return
    }
    await sendStream(response, reply.stream, { ...rules, gzip: false })
    return
  }
  if (reply.json !== undefined || reply.encoded !== undefined) {
    const text = jsonText(reply, exchange.pretty)
    const head = headOf(rules, exchange, reply, reply.type ?? 'application/json')
    await sendBody(rules, exchange, head, text)
  } else if (reply.text !== undefined) {
    const head = headOf(rules, exchange, reply, reply.type ?? 'text/plain; charset=utf-8')
    await sendBody(rules, exchange, head, reply.text)
  } else if (reply.bytes !== undefined) {
    const head = headOf(rules, exchange, reply, reply.type ?? 'application/octet-stream')
    await sendBody(rules, exchange, head, reply.bytes)
  } else {
    endEmpty(exchange, headOf(rules, exchange, reply, reply.type ?? null))
  }
}

function jsonText({ json, encoded }: ApiReply, pretty: boolean): string {
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
  head.set('Content-Length', String(Buffer.byteLength(body)))
  head.writeTo(response)
  const rest = linger()
  if (rest !== null) {
    response.flushHeaders()
    if (exchange.request.method !== 'HEAD') response.write(body)
    await rest
    response.end()
  } else if (exchange.request.method === 'HEAD') {
    response.end()
  } else {
    response.end(body)
  }
}

function headOf(rules: ReplyRules, exchange: Exchange, reply: ApiReply, type: string | null): Head {
  const { contact } = exchange
  const { names } = rules
  const head = new Head(reply.status ?? 200)
  head.set(requestIdHeader, exchange.requestId)
  if (exchange.extraHeaders !== null) head.lines.push(...exchange.extraHeaders)
  if (type !== null) head.set('Content-Type', type)
  const index = reply.index ?? exchange.index
  if (index !== null) head.setAll(names.index, String(index))
  if (contact !== null) {
    head.setAll(names.knownLeader, contact.knownLeader ? 'true' : 'false')
    head.setAll(names.lastContact, String(contact.lastContactMs))
  }
  if (reply.nextToken) head.setAll(names.nextToken, reply.nextToken)
  if (reply.headers !== undefined) {
    for (const [name, value] of Object.entries(reply.headers)) head.set(name, value)
  }
  return head
}

async function sendBody(
  rules: ReplyRules,
  exchange: Exchange,
  head: Head,
  body: string | Uint8Array,
): Promise<void> {
  const { response } = exchange
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  let sent = body
  let sentLength = length
  if (length > rules.gzipBytesMin && !head.has('content-encoding')) {
    head.set('Vary', 'Accept-Encoding')
    if (acceptsGzip(exchange.request.headers['accept-encoding'])) {
      sent = await gzipAsync(body, { level: constants.Z_BEST_SPEED })
      sentLength = sent.length
      head.set('Content-Encoding', 'gzip')
    }
  }
  head.set('Content-Length', String(sentLength))
  if (exchange.request.method === 'HEAD') {
    head.writeTo(response)
    response.end()
    return
  }
  if (sentLength > largeBytes) dropStalled(response, rules.stallMs)
  leaving.push({ response, head, body: sent })
  await endOfTurn()
}

/** Responses that are whole and leave at the end of this turn of the event loop. */
type Leaving = {
  readonly response: ServerResponse
  readonly head: Head
  readonly body: string | Uint8Array
}
let leaving: Leaving[] = []
let endingTurn: Promise<void> | null = null

/**
 * Answers of one turn leave together. Sent one by one, each would wake its client at once, whose next request then
 * comes alone too: with many clients at work, waking costs more than answering. An idle server sends as soon as ever.
 */
function endOfTurn(): Promise<void> {
  endingTurn ??= new Promise((resolve) => {
    setImmediate(() => {
      const batch = leaving
      leaving = []
      endingTurn = null
      // Text stays text: Node sends it in one piece with the head, bytes in two.
      for (const { response, head, body } of batch) {
        // The client may have gone, and been cut off, while this waited.
        if (response.headersSent || response.destroyed) continue
        head.writeTo(response)
        response.end(body)
      }
      resolve()
    })
  })
  return endingTurn
}

function endEmpty({ response }: Exchange, head: Head): void {
  // 204 and 304 have no body by definition, so no length either.
  if (head.status !== 204 && head.status !== 304) head.set('Content-Length', '0')
  head.writeTo(response)
  response.end()
}

/** A short list is a plain body with its length; a long one streams. */
async function sendRows(
  rules: ReplyRules,
  exchange: Exchange,
  reply: ApiReply,
  rows: AsyncIterable<readonly unknown[]>,
): Promise<void> {
  const { response, request } = exchange
  const made = await readAhead(jsonArray(rows, exchange.pretty))
  const head = headOf(rules, exchange, reply, reply.type ?? 'application/json')
  if ('whole' in made) {
    await sendBody(rules, exchange, head, made.whole)
    return
  }
  const gzipped = acceptsGzip(request.headers['accept-encoding'])
  head.set('Vary', 'Accept-Encoding')
  if (gzipped) head.set('Content-Encoding', 'gzip')
  head.prepare(response)
  if (request.method === 'HEAD') {
    await made.stream.return(undefined)
    response.end()
    return
  }
  await sendStream(response, made.stream, { ...rules, gzip: gzipped })
}

async function endUnread(source: AsyncIterable<unknown>): Promise<void> {
  await source[Symbol.asyncIterator]().return?.()
}
