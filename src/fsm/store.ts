/**
 * One LevelDB folder. Writes go through here one at a time, in order, and the guard below makes what is on disk a
 * prefix of them at any moment, also after a power cut, although single writes are not synced.
 *
 * LevelDB does not sync its write-ahead file when it starts the next one. So it is never let to do that by itself:
 * after `flushBytes` a write is synced and a flush asked for, and until the flush is done every write is synced
 * (docs/decisions/0002-leveldb-prefix-durability.md has the reasoning step by step).
 */
import { ClassicLevel } from 'classic-level'
import type { IteratorOptions } from 'classic-level'
import { mkdir } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { assert } from '../lib/assert.ts'
import { fullTextOf, MusterError, systemCodeOf } from '../lib/errors.ts'
import { EmptiedRanges } from './emptied-ranges.ts'
import { emptyRange, endOfPrefix } from './keys.ts'
import { assertCurrentFile, tableNames } from './level-folder.ts'
import { syncRow } from './meta.ts'
import { assertDiskSpace } from './disk-space.ts'
import { parseLevels, type StoreStats } from './store-stats.ts'
import { cutTornLog, newestLog } from './wal.ts'
import type { LogCut } from './wal.ts'

/** Full keys to values; null deletes. One such map is one atomic batch. */
export type Rows = ReadonlyMap<string, Uint8Array | null>

export type StoreLimits = {
  /** Unsynced bytes after which the memory table is flushed into a synced file. */
  readonly flushBytes: number
  /** Unflushed bytes at which a write waits for the flush under way. */
  readonly unflushedBytesMax: number
  /** What LevelDB would allow before it acts by itself; far above the other two, so that it never does. */
  readonly writeBufferBytes: number
  /** Blocks of table files that LevelDB keeps. */
  readonly blockCacheBytes: number
}

export const storeLimits: StoreLimits = {
  flushBytes: 8 * 1024 * 1024,
  unflushedBytesMax: 32 * 1024 * 1024,
  writeBufferBytes: 64 * 1024 * 1024,
  blockCacheBytes: 16 * 1024 * 1024,
}

/**
 * Table files are mapped into memory, so what is resident is bounded by open files times their size
 * (64 x 4 MiB), not by the size of the state.
 */
const tuning = {
  blockSize: 8 * 1024,
  maxFileSize: 4 * 1024 * 1024,
  maxOpenFiles: 74,
}

/** What a row costs in LevelDB's memory table besides its bytes. */
const rowOverheadBytes = 64

/** Rows that are handed to LevelDB before other work gets its turn. */
const rowsPerTurn = 1_024

/** How much of a scan is fetched at once: pages are cut at whichever comes first. */
export const pageRowsMax = 512
export const pageBytesMax = 256 * 1024

type Database = ClassicLevel<string, Buffer>
export type StoreSnapshot = ReturnType<Database['snapshot']>
export type StoreIterator = ReturnType<typeof iterate>

/** Bounds are bytes, for the upper one is no text. */
function iterate(database: Database, options: IteratorOptions<Buffer, Buffer>) {
  return database.iterator<Buffer, Buffer>({ keyEncoding: 'buffer', ...options })
}

export class Store {
  readonly folder: string
  /** Where rows were deleted that LevelDB may still have to step over. */
  readonly emptied = new EmptiedRanges()
  /** What opening cut from the end of the write-ahead file, for the log. */
  readonly logCut: LogCut | null
  /** Names of the table files that were whole when it was opened; this process made none of them. */
  readonly tables: readonly string[]
  readonly #database: Database
  readonly #limits: StoreLimits
  /** Ends when everything asked for so far is written; never rejects. */
  #tail: Promise<void> = Promise.resolve()
  #failure: MusterError | null = null
  #damage: MusterError | null = null
  #onDamage: ((error: MusterError) => void) | null = null
  #unflushedBytes = 0
  #flushing: Promise<void> | null = null
  #closed = false

  private constructor(
    folder: string,
    database: Database,
    limits: StoreLimits,
    logCut: LogCut | null,
    tables: readonly string[],
  ) {
    this.folder = folder
    this.#database = database
    this.#limits = limits
    this.logCut = logCut
    this.tables = tables
  }

  /** Creates the folder when there is none. The caller holds the lock on its parent. */
  static async open(folder: string, limits: StoreLimits): Promise<Store> {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      if ((await tableNames(folder)).length > 0) await assertCurrentFile(folder)
      // Before there is a database object: it begins to open by itself.
      const logCut = await cutTornLog(folder)
      const database: Database = new ClassicLevel(folder, {
        keyEncoding: 'utf8',
        valueEncoding: 'buffer',
        writeBufferSize: limits.writeBufferBytes,
        cacheSize: limits.blockCacheBytes,
        ...tuning,
      })
      await database.open()
      // Files are numbered one after the other. What LevelDB may be writing just now comes after its new write-ahead file.
      const log = await newestLog(folder)
      const tables = (await tableNames(folder)).filter((name) => Number.parseInt(name, 10) < log)
      return new Store(folder, database, limits, logCut, tables)
    } catch (error) {
      if (error instanceof MusterError) throw error
      const code = isDamage(error) ? 'corrupt' : 'unavailable'
      throw new MusterError(code, `cannot open the state in ${folder}: ${fullTextOf(error)}`, {
        cause: error,
      })
    }
  }

  /** In LevelDB's memory and write-ahead file, not in table files yet. */
  get unflushedBytes(): number {
    return this.#unflushedBytes
  }

  /** A write failed, and no later one is taken: LevelDB may have written a part of it. What is read is whole. */
  get failed(): boolean {
    return this.#failure !== null
  }

  /** What was read is not what LevelDB had written. */
  get damaged(): boolean {
    return this.#damage !== null
  }

  /** For one listener, which is told once. */
  onDamage(listener: (error: MusterError) => void): void {
    this.#onDamage = listener
    if (this.#damage !== null) listener(this.#damage)
  }

  /** The value now, or as of `snapshot`. Microseconds when the block is in memory. */
  get(key: string, snapshot: StoreSnapshot | null = null): Buffer | undefined {
    try {
      if (snapshot === null) return this.#database.getSync(key)
      return this.#database.getSync(key, {
        snapshot,
        keyEncoding: 'utf8',
        valueEncoding: 'buffer',
      })
    } catch (error) {
      throw this.#readFailure(error)
    }
  }

  async getMany(keys: string[], snapshot: StoreSnapshot): Promise<(Buffer | undefined)[]> {
    try {
      return await this.#database.getMany(keys, {
        snapshot,
        keyEncoding: 'utf8',
        valueEncoding: 'buffer',
      })
    } catch (error) {
      throw this.#readFailure(error)
    }
  }

  /** A consistent picture from this very moment on. The caller closes it. */
  snapshot(): StoreSnapshot {
    try {
      return this.#database.snapshot()
    } catch (error) {
      throw this.#readFailure(error)
    }
  }

  /** Keys from `from` that begin with `prefix`, in order, as of `snapshot` or of this moment. The caller closes it. */
  iterator(range: {
    readonly from: string
    readonly prefix: string
    readonly keys: boolean
    readonly snapshot: StoreSnapshot | null
  }): StoreIterator {
    try {
      return iterate(this.#database, {
        gte: Buffer.from(range.from, 'utf8'),
        lt: endOfPrefix(range.prefix),
        keys: range.keys,
        highWaterMarkBytes: pageBytesMax,
        fillCache: false,
        ...(range.snapshot === null ? {} : { snapshot: range.snapshot }),
      })
    } catch (error) {
      throw this.#readFailure(error)
    }
  }

  /** The next page of an iterator; empty at the end. Throws `unavailable` when the store was closed meanwhile. */
  async nextPage(iterator: StoreIterator, rowsMax = pageRowsMax): Promise<[Buffer, Buffer][]> {
    try {
      return await iterator.nextv(rowsMax)
    } catch (error) {
      throw this.#readFailure(error)
    }
  }

  /** Throws `unavailable` when the store is closed. */
  stats(): StoreStats {
    try {
      return {
        levels: parseLevels(this.#database.getProperty('leveldb.stats')),
        memoryBytes: Number(this.#database.getProperty('leveldb.approximate-memory-usage')),
        unflushedBytes: this.#unflushedBytes,
      }
    } catch (error) {
      throw this.#readFailure(error)
    }
  }

  /** Writes one atomic batch after all earlier ones. A rejection is final for this store. */
  write(rows: Rows, options: { readonly sync: boolean } = { sync: false }): Promise<void> {
    const written = this.#tail.then(() => this.#write(rows, options.sync))
    this.#tail = written.catch(() => {})
    return written
  }

  /** Resolves when everything written before this call is on disk. */
  sync(): Promise<void> {
    return this.write(new Map([[syncRow.key, syncRow.encode(0)]]), { sync: true })
  }

  /** As `sync`, and everything is in table files: nothing is replayed when the folder is opened next. */
  settle(): Promise<void> {
    // One turn in the queue for all of it: nothing unsynced may come between the sync and the flush.
    const settled = this.#tail.then(() => this.#settle())
    this.#tail = settled.catch(() => {})
    return settled
  }

  /** Bytes of the table files between two keys, as LevelDB estimates them. */
  async bytesBetween(first: string, last: string): Promise<number> {
    try {
      return await this.#database.approximateSize(first, last)
    } catch (error) {
      throw this.#readFailure(error)
    }
  }

  /**
   * Rewrites the table files from `first` to `last` without rows that were deleted or written over, as far as no snapshot
   * needs them. Until then a scan steps over each of those rows. Writes are synced meanwhile, as during every flush.
   */
  async compact(first: string, last: string): Promise<void> {
    const begun = this.#tail.then(async () => {
      // LevelDB merges a file only into files of a deeper level, and may have put a flushed table as deep as there are any: so
      // these rows go into a table file, and a newer file that reaches from the first to the last comes above it.
      await this.#settle()
      await this.#write(this.#asTheyAre([first, last]), true)
      assert(this.#flushing === null, 'nothing is due to be flushed right after a flush')
      this.#startFlush(Buffer.from(first, 'utf8'), Buffer.from(last, 'utf8'))
    })
    this.#tail = begun.catch(() => {})
    await begun
    await this.#flushing
    if (this.#failure !== null) throw this.#failure
  }

  /** Open snapshots and iterators fail with `unavailable` from now on. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#tail
    await this.#flushing
    await this.#database.close()
  }

  /** In a turn of its own in the queue. */
  async #settle(): Promise<void> {
    await this.#write(new Map([[syncRow.key, syncRow.encode(0)]]), true)
    await this.#flushing
    this.#startFlush(emptyRange, emptyRange)
    await this.#flushing
    if (this.#failure !== null) throw this.#failure
  }

  #asTheyAre(keys: readonly string[]): Rows {
    return new Map(keys.map((key) => [key, this.get(key) ?? null]))
  }

  async #write(rows: Rows, sync: boolean): Promise<void> {
    if (this.#failure !== null) throw this.#failure
    if (this.#unflushedBytes >= this.#limits.unflushedBytesMax) await this.#flushing
    const flushDue = this.#flushing === null && this.#unflushedBytes >= this.#limits.flushBytes
    try {
      const batch = this.#database.batch()
      let added = 0
      for (const [key, value] of rows) {
        if (++added % rowsPerTurn === 0) await setImmediate()
        if (value === null) {
          batch.del(key)
          this.emptied.note(key)
        } else {
          batch.put(key, asBuffer(value))
        }
        this.#unflushedBytes += key.length + (value?.byteLength ?? 0) + rowOverheadBytes
      }
      await batch.write({ sync: sync || flushDue || this.#flushing !== null })
    } catch (error) {
      throw this.#fail(error)
    }
    // Nothing else is written between the synced batch above and the flush: writes come one at a time.
    if (flushDue) this.#startFlush(emptyRange, emptyRange)
  }

  /**
   * A compaction, of no keys at all for a plain flush: LevelDB switches to a new memory table first and writes the old one
   * into a synced file.
   */
  #startFlush(from: Buffer, to: Buffer): void {
    this.#flushing = this.#flush(from, to)
      .catch((error: unknown) => {
        this.#fail(error)
      })
      .then(() => {
        this.#flushing = null
      })
  }

  async #flush(from: Buffer, to: Buffer): Promise<void> {
    const before = this.#unflushedBytes
    const log = await newestLog(this.folder)
    await this.#database.compactRange<Buffer>(from, to, { keyEncoding: 'buffer' })
    if ((await newestLog(this.folder)) > log) {
      this.#unflushedBytes -= before
      return
    }
    // LevelDB says nothing when it could not begin a new write-ahead file, and would go on with the old one until it acts by itself.
    await assertDiskSpace(this.folder, 0)
  }

  #fail(error: unknown): MusterError {
    this.#failure ??= new MusterError(
      'internal',
      `the state in ${this.folder} cannot be written: ${fullTextOf(error)}`,
      { cause: error },
    )
    return this.#failure
  }

  #readFailure(error: unknown): MusterError {
    if (this.#closed || this.#database.status !== 'open') {
      return new MusterError(
        'unavailable',
        'the state was replaced or closed during this read; try again',
        {
          cause: error,
        },
      )
    }
    const damaged = isDamage(error)
    const text = `the state in ${this.folder} cannot be read: ${fullTextOf(error)}`
    const failure = new MusterError(damaged ? 'corrupt' : 'internal', text, { cause: error })
    if (damaged && this.#damage === null) {
      this.#damage = failure
      this.#onDamage?.(failure)
    }
    return failure
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** What LevelDB says of files that are not as it wrote them, missing ones among them. A disk that fails is another matter. */
const damageWords = /corruption|no such file|does not exist/i
/** How deep an error's causes are looked into. */
const causesMax = 4

function isDamage(error: unknown): boolean {
  let at = error
  for (let depth = 0; depth < causesMax && at instanceof Error; depth += 1) {
    const code = systemCodeOf(at)
    if (code === 'LEVEL_CORRUPTION') return true
    if (code.startsWith('LEVEL_') && damageWords.test(at.message)) return true
    at = at.cause
  }
  return false
}
