/**
 * Bodies that are made while they are sent. Back-pressure reaches the source, a client that goes away ends it, and a
 * source that fails after the head was sent breaks the connection, so that a cut answer is never taken for a whole one.
 */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'
import type { Clock } from '../lib/clock.ts'
import { encodeJson } from './json.ts'

/** Rows of a list are joined to chunks of about this size. */
const chunkLengthMin = 65_536

/** A JSON array in chunks; holds one page and one chunk. */
export async function* jsonArray(
  pages: AsyncIterable<readonly unknown[]>,
  pretty: boolean,
): AsyncGenerator<string> {
  let chunk = '['
  let first = true
  for await (const page of pages) {
    for (const row of page) {
      chunk += first ? (pretty ? '\n    ' : '') : pretty ? ',\n    ' : ','
      first = false
      const text = encodeJson(row, pretty)
      chunk += pretty ? text.trimEnd().replaceAll('\n', '\n    ') : text
      if (chunk.length >= chunkLengthMin) {
        yield chunk
        chunk = ''
      }
    }
  }
  yield `${chunk}${pretty && !first ? '\n' : ''}]${pretty ? '\n' : ''}`
}

/**
 * Reads ahead, so that a source that fails at once still gets a proper status, and a text of up to `lengthMax` is known to
 * be whole; a chunk in any case. The caller iterates `stream` or calls its `return`.
 */
export async function readAhead(
  source: AsyncGenerator<string>,
  lengthMax: number,
): Promise<{ readonly whole: string } | { readonly stream: AsyncGenerator<string> }> {
  const ahead: IteratorResult<string, void>[] = []
  for (let length = 0; length <= Math.max(lengthMax, chunkLengthMin - 1);) {
    const next = await source.next()
    if (next.done === true) return { whole: ahead.map(({ value }) => value ?? '').join('') }
    ahead.push(next)
    length += next.value.length
  }
  // Not a generator over the source: one that was never started would not pass `return` on.
  const stream: AsyncGenerator<string> = {
    next: () => {
      const head = ahead.shift()
      return head === undefined ? source.next() : Promise.resolve(head)
    },
    return: (value) => source.return(value),
    throw: (error) => source.throw(error),
    [Symbol.asyncIterator]: () => stream,
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  }
  return { stream }
}

/** So long an answer may have nothing to say before its client learns that it has begun. */
const silenceMsMax = 1_000

/**
 * Resolves when the last byte is handed over or the client has gone; then the source has been ended as well. The head
 * leaves with the first chunk, as a source that fails before it still gets a proper status, or after a second without one.
 */
export async function sendStream(
  response: ServerResponse,
  source: AsyncIterable<Uint8Array | string>,
  options: { readonly gzip: boolean; readonly stallMs: number; readonly clock: Clock },
): Promise<void> {
  dropStalled(response, options.stallMs)
  const readable = Readable.from(source, { objectMode: true, highWaterMark: 1 })
  const silence = options.clock.setTimer(silenceMsMax, () => {
    if (!response.destroyed) response.flushHeaders()
  })
  try {
    await beginning(readable, response)
    if (options.gzip) {
      await pipeline(readable, createGzip({ level: constants.Z_BEST_SPEED }), response)
    } else {
      await pipeline(readable, response)
    }
  } finally {
    silence.cancel()
    // A pipeline to a response that is closed already throws before it looks at its source.
    readable.destroy()
  }
}

/**
 * Resolves when there is something to send, or nothing at all, or nobody to send it to. Rejects where the source fails before: a
 * pipeline would break the connection then.
 */
async function beginning(readable: Readable, response: ServerResponse): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const begun = (): void => resolve()
  readable.on('readable', begun)
  readable.on('error', reject)
  response.on('close', begun)
  try {
    if (!response.destroyed) await promise
  } finally {
    readable.off('readable', begun)
    readable.off('error', reject)
    response.off('close', begun)
  }
}

/** A client that takes nothing for `stallMs` while there is something to take is dropped. */
export function dropStalled(response: ServerResponse, stallMs: number): void {
  response.setTimeout(stallMs, () => {
    if (response.writableLength > 0 || response.writableNeedDrain) response.destroy()
  })
}
