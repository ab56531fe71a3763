/** What a route answered, or what went wrong, as an HTTP response. */
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { ServerResponse } from 'node:http'
import { errorReply } from './errors.ts'
import { acceptsGzip, type ReplyHeaderNames } from './headers.ts'
import { encodeJson } from './json.ts'
import type { Exchange } from './request.ts'
import type { ApiReply } from './route.ts'
import { dropStalled, jsonArray, readAhead, sendStream } from './streams.ts'

export type ReplyRules = {
  readonly names: ReplyHeaderNames
  /** Bodies up to this size are never compressed. */
  readonly gzipBytesMin: number
  /** A client that takes nothing for this long is dropped. */
  readonly stallMs: number
}

/** Beyond this, a body stays in memory long enough to watch the client take it. */
const largeBytes = 65_536

const gzipAsync = promisify(gzip)

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
    writeHead(rules, exchange, reply, reply.type ?? 'application/octet-stream')
    if (exchange.request.method === 'HEAD') {
      await endUnread(reply.stream)
      response.end()
      return
    }
    await sendStream(response, reply.stream, { gzip: false, stallMs: rules.stallMs })
    return
  }
  if (reply.json !== undefined) {
    const text = encodeJson(reply.json, exchange.pretty)
    writeHead(rules, exchange, reply, reply.type ?? 'application/json')
    await sendBody(rules, exchange, text)
  } else if (reply.text !== undefined) {
    writeHead(rules, exchange, reply, reply.type ?? 'text/plain; charset=utf-8')
    await sendBody(rules, exchange, reply.text)
  } else if (reply.bytes !== undefined) {
    writeHead(rules, exchange, reply, reply.type ?? 'application/octet-stream')
    await sendBody(rules, exchange, reply.bytes)
  } else {
    writeHead(rules, exchange, reply, reply.type ?? null)
    endEmpty(exchange, reply.status ?? 200)
  }
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
  const { status, type, body, retryAfter } = errorReply(error, exchange.path, exchange.requestId)
  writeHead(rules, exchange, { status }, type)
  if (retryAfter !== null) response.setHeader('Retry-After', retryAfter)
  response.setHeader('Content-Length', Buffer.byteLength(body))
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

function writeHead(
  rules: ReplyRules,
  exchange: Exchange,
  reply: ApiReply,
  type: string | null,
): void {
  const { response, contact } = exchange
  const { names } = rules
  response.statusCode = reply.status ?? 200
  if (type !== null) response.setHeader('Content-Type', type)
  const index = reply.index ?? exchange.index
  if (index !== null) setAll(response, names.index, String(index))
  if (contact !== null) {
    setAll(response, names.knownLeader, contact.knownLeader ? 'true' : 'false')
    setAll(response, names.lastContact, String(contact.lastContactMs))
  }
  if (reply.nextToken) setAll(response, names.nextToken, reply.nextToken)
  if (reply.headers !== undefined) {
    for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value)
  }
}

function setAll(response: ServerResponse, names: readonly string[], value: string): void {
  for (const name of names) response.setHeader(name, value)
}

async function sendBody(
  rules: ReplyRules,
  exchange: Exchange,
  body: string | Uint8Array,
): Promise<void> {
  const { response } = exchange
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  let sent = body
  let sentLength = length
  if (length > rules.gzipBytesMin && !response.hasHeader('content-encoding')) {
    response.setHeader('Vary', 'Accept-Encoding')
    if (acceptsGzip(exchange.request.headers['accept-encoding'])) {
      sent = await gzipAsync(body, { level: constants.Z_BEST_SPEED })
      sentLength = sent.length
      response.setHeader('Content-Encoding', 'gzip')
    }
  }
  response.setHeader('Content-Length', sentLength)
  if (exchange.request.method === 'HEAD') {
    response.end()
    return
  }
  if (sentLength > largeBytes) dropStalled(response, rules.stallMs)
  leaving.push({ response, body: sent })
  await endOfTurn()
}

/** Responses that are whole and leave at the end of this turn of the event loop. */
let leaving: { readonly response: ServerResponse; readonly body: string | Uint8Array }[] = []
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
      for (const { response, body } of batch) response.end(body)
      resolve()
    })
  })
  return endingTurn
}

function endEmpty(exchange: Exchange, status: number): void {
  // 204 and 304 have no body by definition, so no length either.
  if (status !== 204 && status !== 304) exchange.response.setHeader('Content-Length', 0)
  exchange.response.end()
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
  writeHead(rules, exchange, reply, reply.type ?? 'application/json')
  if ('whole' in made) {
    await sendBody(rules, exchange, made.whole)
    return
  }
  const gzipped = acceptsGzip(request.headers['accept-encoding'])
  response.setHeader('Vary', 'Accept-Encoding')
  if (gzipped) response.setHeader('Content-Encoding', 'gzip')
  if (request.method === 'HEAD') {
    await made.stream.return(undefined)
    response.end()
    return
  }
  await sendStream(response, made.stream, { gzip: gzipped, stallMs: rules.stallMs })
}

async function endUnread(source: AsyncIterable<unknown>): Promise<void> {
  await source[Symbol.asyncIterator]().return?.()
}
