/**
 * The whole state as a stream of chunks, and back into a folder of its own.
 *
 * A chunk is msgpack of [format, key, value, key, value, ...]: consecutive rows of the machine's replicated rows, then of the
 * current generation, then of one being restored. Rows of generations that are being swept do not travel.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { assert } from '../lib/assert.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { SnapshotMeta, SnapshotSink, SnapshotSource } from '../raft/state-machine.ts'
import { pack, unpack } from './codec.ts'
import { assertFormat } from './folder.ts'
import { generationOf, generationPrefix } from './keys.ts'
import { formatRow, generationsRow, installedRow, replicatedPrefix, stateFormat } from './meta.ts'
import { metaOf, readPosition } from './position.ts'
import type { Rows, Store, StoreSnapshot } from './store.ts'

/** A chunk is cut after the row that reaches this; with one row on top it stays below `chunkBytesMax`. */
const chunkBytesTarget = 256 * 1024
const chunkBytesMax = 1024 * 1024

/** Where a chunk begins: the first key not below `from` in range number `range`. */
type ChunkStart = { readonly range: number; readonly from: string }

/** What all rows of the state begin with, in the order of the stream. */
function statePrefixes(store: Store, snapshot: StoreSnapshot): readonly string[] {
  const bytes = store.get(generationsRow.key, snapshot)
  assert(bytes !== undefined, 'the state has no generations row')
  const { current, staging } = generationsRow.decode(bytes)
  const prefixes = [replicatedPrefix, generationPrefix(current)]
  return staging === null ? prefixes : [...prefixes, generationPrefix(staging.generation)]
}

export class StateSnapshot implements SnapshotSource {
  readonly id = randomUUID()
  readonly meta: SnapshotMeta
  readonly #store: Store
  readonly #snapshot: StoreSnapshot
  readonly #prefixes: readonly string[]
  /** Of every chunk cut so far and the one after: what makes chunks the same on every call. */
  readonly #starts: ChunkStart[]

  private constructor(
    store: Store,
    snapshot: StoreSnapshot,
    prefixes: readonly string[],
    meta: SnapshotMeta,
  ) {
    this.#store = store
    this.#snapshot = snapshot
    this.#prefixes = prefixes
    this.#starts = [{ range: 0, from: prefixes[0] ?? '' }]
    this.meta = meta
  }

  /** Of what the store holds at this moment: always whole batches. */
  static async take(store: Store): Promise<StateSnapshot> {
    const snapshot = store.snapshot()
    try {
      const meta = metaOf(await readPosition(store, snapshot))
      return new StateSnapshot(store, snapshot, statePrefixes(store, snapshot), meta)
    } catch (error) {
      await snapshot.close()
      throw error
    }
  }

  async *chunks(from: number): AsyncGenerator<Uint8Array> {
    let number = Math.min(from, this.#starts.length - 1)
    const start = this.#starts[number]
    assert(start !== undefined, `chunk ${from} of a snapshot`)
    let flat: unknown[] = [stateFormat]
    let bytes = 0
    let { range, from: next } = start
    for (; range < this.#prefixes.length; range += 1, next = this.#prefixes[range] ?? '') {
      const prefix = this.#prefixes[range] ?? ''
      for await (const [key, value] of this.#rows(next, prefix)) {
        flat.push(key, value)
        bytes += key.length + value.byteLength
        if (bytes < chunkBytesTarget) continue
        const chunk = number >= from ? encodeChunk(flat) : null
        number += 1
        // The smallest key after this one.
        this.#starts[number] ??= { range, from: `${key}\x00` }
        flat = [stateFormat]
        bytes = 0
        if (chunk !== null) yield chunk
      }
    }
    if (flat.length > 1 && number >= from) yield encodeChunk(flat)
  }

  /** sha256 over all rows: equal on two servers that applied the same entries. */
  async digest(): Promise<string> {
    const hash = createHash('sha256')
    for (const prefix of this.#prefixes) {
      for await (const [key, value] of this.#rows(prefix, prefix)) {
        hash.update(pack([key, value]))
      }
    }
    return hash.digest('hex')
  }

  async close(): Promise<void> {
    await this.#snapshot.close()
  }

  async *#rows(from: string, prefix: string): AsyncGenerator<readonly [string, Buffer]> {
    const iterator = this.#store.iterator({ from, prefix, keys: true, snapshot: this.#snapshot })
    try {
      for (;;) {
        const page = await this.#store.nextPage(iterator)
        if (page.length === 0) return
        for (const [key, value] of page) yield [key.toString(), value]
        await setImmediate()
      }
    } finally {
      await iterator.close()
    }
  }
}

function encodeChunk(flat: readonly unknown[]): Buffer {
  const chunk = pack(flat)
  assert(chunk.byteLength <= chunkBytesMax, `a snapshot chunk has ${chunk.byteLength} bytes`)
  return chunk
}

/** An arriving snapshot, in a store without readers yet. The machine owns it. */
export class StagedSnapshot implements SnapshotSink {
  readonly id: string
  readonly meta: SnapshotMeta
  readonly name: string
  readonly store: Store
  readonly #hash: Hash = createHash('sha256')
  readonly #failed: () => Promise<void>
  #received = 0
  #state: 'arriving' | 'finished' | 'void' = 'arriving'

  /** `failed`: its store took a write no more. What it holds of the disk may be just what others need. */
  constructor(options: {
    id: string
    meta: SnapshotMeta
    name: string
    store: Store
    failed: () => Promise<void>
  }) {
    this.#failed = options.failed
    this.id = options.id
    this.meta = options.meta
    this.name = options.name
    this.store = options.store
  }

  get received(): number {
    return this.#received
  }

  get finished(): boolean {
    return this.#state === 'finished'
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#assertArriving()
    const rows = decodeChunk(chunk)
    this.#hash.update(chunk)
    await this.#orVoid(() => this.store.write(rows))
    this.#received += 1
  }

  /** Throws `corrupt` when the chunks are not the sender's, or are not the state that was offered. */
  async finish(sha256: string): Promise<void> {
    if (this.#state === 'finished') return
    this.#assertArriving()
    const digest = this.#hash.copy().digest('hex')
    if (digest !== sha256) {
      this.#state = 'void'
      throw new MusterError(
        'corrupt',
        `the snapshot arrived with sha256 ${digest}, not ${sha256}: send it again`,
      )
    }
    const { index, term } = metaOf(await readPosition(this.store, null))
    if (index !== this.meta.index || term !== this.meta.term) {
      this.#state = 'void'
      throw new MusterError(
        'corrupt',
        `the snapshot holds the state at index ${index} of term ${term}, not ${this.meta.index} of ${this.meta.term} as offered`,
      )
    }
    await this.#orVoid(async () => {
      await this.store.write(
        new Map([
          [formatRow.key, formatRow.encode(stateFormat)],
          [installedRow.key, installedRow.encode(this.meta.index)],
        ]),
      )
      await this.store.settle()
    })
    this.#state = 'finished'
  }

  /** Another snapshot took its place. */
  void(): void {
    this.#state = 'void'
  }

  /** Whether more may be written: one that failed starts over with the same id. */
  get usable(): boolean {
    return this.#state !== 'void'
  }

  async #orVoid(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      if (this.#state === 'arriving') await this.#failed()
      throw error
    }
  }

  #assertArriving(): void {
    if (this.#state === 'arriving') return
    throw new MusterError(
      'cancelled',
      `snapshot ${this.id} takes no more chunks: a later one took its place, or it was finished`,
    )
  }
}

function decodeChunk(chunk: Uint8Array): Rows {
  let flat: unknown
  try {
    flat = unpack(chunk)
  } catch (error) {
    throw new MusterError('corrupt', `a snapshot chunk is not msgpack: ${textOf(error)}`)
  }
  if (!Array.isArray(flat) || typeof flat[0] !== 'number') {
    throw new MusterError('corrupt', 'a snapshot chunk does not begin with its format')
  }
  assertFormat(flat[0], 'an arriving snapshot')
  const rows = new Map<string, Uint8Array>()
  for (let position = 1; position < flat.length; position += 2) {
    const key: unknown = flat[position]
    const value: unknown = flat[position + 1]
    if (typeof key !== 'string' || !(value instanceof Uint8Array) || !isStateKey(key)) {
      throw new MusterError(
        'corrupt',
        `pair ${(position - 1) / 2} of a snapshot chunk is no row of a state`,
      )
    }
    rows.set(key, value)
  }
  return rows
}

function isStateKey(key: string): boolean {
  return key.startsWith(replicatedPrefix) || (key.length > 4 && generationOf(key) > 0)
}
