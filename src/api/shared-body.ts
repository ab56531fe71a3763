/** What the reply to a shared read is written as: made once, compressed once, and sent to all who asked for it. */
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Companion, SharedResult } from '../rpc/shared-reads.ts'
import { encodeJson } from './json.ts'
import { SharedBytes, type Outgoing } from './outgoing.ts'
import type { ApiReply } from './route.ts'
import { jsonArray } from './streams.ts'

/** A longer list is written for each reader as it takes it. */
export const sharedBytesMax = 4_194_304
/** Written between two turns of other work. */
const turnBytes = 524_288

const gzipAsync = promisify(gzip)

export class SharedBody implements Companion {
  readonly #outgoing: Outgoing
  readonly #plain: Promise<SharedBytes | null>
  #gzipped: Promise<SharedBytes> | null = null

  private constructor(outgoing: Outgoing, made: Promise<Buffer | null>) {
    this.#outgoing = outgoing
    this.#plain = made.then((bytes) => (bytes === null ? null : this.#shared(bytes)))
    // Each who asks for it is told; with none of them there it is no failure of its own.
    this.#plain.catch(() => {})
  }

  /** The one that was made of this result; else it is made of this reply, whose rows are read then. */
  static of(
    outgoing: Outgoing,
    result: SharedResult,
    reply: ApiReply,
    pretty: boolean,
  ): SharedBody {
    if (result.companion instanceof SharedBody) return result.companion
    const body = new SharedBody(outgoing, bytesOf(reply, pretty))
    result.companion = body
    return body
  }

  /** Null: it is too long to be shared. */
  plain(): Promise<SharedBytes | null> {
    return this.#plain
  }

  gzipped(plain: SharedBytes): Promise<SharedBytes> {
    this.#gzipped ??= gzipAsync(plain.bytes, { level: constants.Z_BEST_SPEED }).then((bytes) =>
      this.#shared(bytes),
    )
    return this.#gzipped
  }

  /** A response that is being sent still holds it. */
  close(): void {
    void this.#plain.then((plain) => plain?.release()).catch(() => {})
    void this.#gzipped?.then((bytes) => bytes.release()).catch(() => {})
  }

  #shared(bytes: Buffer): SharedBytes {
    return new SharedBytes(this.#outgoing, bytes)
  }
}

async function bytesOf(reply: ApiReply, pretty: boolean): Promise<Buffer | null> {
  const { rows, json, jsonOf } = reply
  if (rows === undefined) {
    return Buffer.from(encodeJson(jsonOf === undefined ? json : jsonOf(), pretty))
  }
  const chunks: Buffer[] = []
  let length = 0
  let turn = 0
  for await (const text of jsonArray(rows, pretty)) {
    const chunk = Buffer.from(text)
    chunks.push(chunk)
    length += chunk.length
    if (length > sharedBytesMax) return null
    turn += chunk.length
    if (turn < turnBytes) continue
    turn = 0
    await setImmediate()
  }
  return Buffer.concat(chunks)
}
