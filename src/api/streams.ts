/**
 * Bodies that are made while they are sent. Back-pressure reaches the source, a client that goes away ends it, and a
 * source that fails after the head was sent breaks the connection, so that a cut answer is never taken for a whole one.
 */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'
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
 * Takes the first chunk, so that a source that fails at once still gets a proper status, and says whether it is all.
 * The caller iterates `rest` or calls its `return`.
 */
export async function peek(source: AsyncIterable<string>): Promise<{
  readonly first: string
  readonly rest: AsyncGenerator<string> | null
}> {
  const iterator = source[Symbol.asyncIterator]()
  const head = await iterator.next()
  if (head.done === true) return { first: '', rest: null }
  if (head.value.length < chunkLengthMin) {
    // Only the last chunk is short; asking once more lets the source finish.
    const end = await iterator.next()
    if (end.done === true) return { first: head.value, rest: null }
    return { first: head.value, rest: following(end.value, iterator) }
  }
  return { first: head.value, rest: following('', iterator) }
}

async function* following(second: string, iterator: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    if (second !== '') yield second
    for (;;) {
      const next = await iterator.next()
      if (next.done === true) return
      yield next.value
    }
  } finally {
    await iterator.return?.()
  }
}

/** Resolves when the last byte is handed over or the client has gone; then the source has been ended as well. */
export async function sendStream(
  response: ServerResponse,
  source: AsyncIterable<Uint8Array | string>,
  options: { readonly gzip: boolean; readonly stallMs: number },
): Promise<void> {
  dropStalled(response, options.stallMs)
  const readable = Readable.from(source, { objectMode: true, highWaterMark: 1 })
  if (options.gzip) {
    await pipeline(readable, createGzip({ level: constants.Z_BEST_SPEED }), response)
  } else {
    await pipeline(readable, response)
  }
}

/** A client that takes nothing for `stallMs` while there is something to take is dropped. */
export function dropStalled(response: ServerResponse, stallMs: number): void {
  response.setTimeout(stallMs, () => {
    if (response.writableLength > 0 || response.writableNeedDrain) response.destroy()
  })
}
