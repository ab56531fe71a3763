/**
 * The newest state, and the way of batches into the store beneath it: visible at once, landed when LevelDB has written them.
 *
 * Batches are gathered for a moment and land together: a write of LevelDB costs two wake-ups and a turn of another thread, more
 * than all rows of a small batch. No request waits for it, and what a crash takes comes back from the log. At most one write is
 * under way while the next one is gathered.
 *
 * A store that failed to write takes nothing more. Where the disk only refused (it is full or read-only), the store is
 * opened anew once there is room and given all batches that have not landed, from memory. Invariants: what readers see is the
 * store and `#pending` over it; `#gathered` is the end of `#pending`; a store of the same folder is never behind
 * `#landedIndex`; one store is put in the place of another by one owner at a time (`#replacing`).
 */
import type { Clock, Timer } from '../lib/clock.ts'
import type { DiskGate } from '../lib/disk-gate.ts'
import { MusterError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { LogIndex, SnapshotMeta } from '../raft/state-machine.ts'
import type { Batch } from './batch.ts'
import type { Caches } from './caches.ts'
import { Compaction } from './compaction.ts'
import { metaOf, readPosition } from './position.ts'
import { assertDiskSpace } from './disk-space.ts'
import { State, type Position } from './state.ts'
import { Store } from './store.ts'
import type { Rows, StoreLimits } from './store.ts'

/** A batch waits this long for others, */
const gatherMs = 20
/** for this much of them: what several turns of a server under load bring, */
const gatherBytesMax = 256 * 1024
/** and for this many: a row that is not in the cache is looked for in each. */
const gatherBatchesMax = 32

/** Room that LevelDB needs for its own files when it is opened, beside what it is given. */
const reopenBytes = 1024 * 1024

export type WriteBehindOptions = {
  /** The state's folder, by its path, and the store in it. */
  readonly store: Store
  readonly state: State
  /** Of another store than the one before. */
  readonly caches: () => Caches
  readonly limits: StoreLimits
  readonly clock: Clock
  readonly logger: Logger
  /** Absent: a disk that refuses is a failure like any other. */
  readonly gate: DiskGate | undefined
  /** Rows may have come to lie in the store that do not count any more. */
  readonly leftovers: () => void
}

export class WriteBehind {
  readonly #options: WriteBehindOptions
  #store: Store
  #state: State
  /** Batches that readers see and the store does not have yet, oldest first. */
  #pending: readonly Rows[] = []
  /** Those of them that no write was begun for. */
  #gathered: Rows[] = []
  #gatheredBytes = 0
  #gatherTimer: Timer | null = null
  #writesUnderWay = 0
  /** Ends with the last write; never rejects, see `#failure`. */
  #writing: Promise<void> = Promise.resolve()
  /** The store has every batch up to here. */
  #landedIndex: LogIndex
  /** The one way back from a write that the disk refused, for all callers that met it. */
  #recovering: Promise<void> | null = null
  /** Never rejects. */
  #replacing: Promise<unknown> = Promise.resolve()
  #failure: unknown = null
  readonly #compaction: Compaction

  constructor(options: WriteBehindOptions) {
    this.#options = options
    this.#store = options.store
    this.#state = options.state
    this.#landedIndex = options.state.position.appliedIndex
    const { clock, logger } = options
    this.#compaction = new Compaction({ store: () => this.#store, clock, logger })
  }

  get state(): State {
    return this.#state
  }

  get store(): Store {
    return this.#store
  }

  /** Nothing is to be believed any more. */
  fail(error: unknown): void {
    this.#failure ??= error
  }

  assertSound(): void {
    if (this.#failure !== null) throw this.#failure
  }

  /** Makes a whole batch visible, as the state at `position`; it lands soon. Returns how to wait until the next may be published. */
  publish(batch: Batch, position: Position): () => Promise<void> {
    const restored = position.generations !== this.#state.position.generations
    // Views of the old state get their snapshot now: nothing newer is on its way to the store yet.
    this.#state.supersede()
    const { caches } = this.#state
    this.#pending = [...this.#pending, batch.rows]
    this.#state = new State(this.#store, position, this.#pending, caches)
    caches.changed(batch, this.#state.generationPrefix, position.appliedIndex)
    this.#gathered.push(batch.rows)
    this.#gatheredBytes += bytesOf(batch.rows)
    const previous = this.#writing
    const full = this.#gatheredBytes >= gatherBytesMax || this.#gathered.length >= gatherBatchesMax
    const due = full || restored
    if (due) this.#land(restored)
    else this.#gather()
    return async () => {
      if (due) await previous
      this.assertSound()
    }
  }

  /** Resolves when all that was published has landed, or nothing will any more. */
  settled(): Promise<void> {
    this.#land()
    return this.#writing
  }

  /** Makes what is visible at this call durable, and says how far that is. */
  async flush(): Promise<SnapshotMeta> {
    // The batches that led to this position are queued in the store now, so the sync comes after them.
    this.#land()
    const { position } = this.#state
    for (;;) {
      try {
        await this.#store.sync()
        return metaOf(position)
      } catch (error) {
        await this.#recovered(error)
      }
    }
  }

  /** `choose` makes `store` the one that a start finds; from then on it is the state. Nothing is published meanwhile. Resolves to the store before. */
  async replace(store: Store, choose: () => Promise<void>): Promise<Store> {
    // Before its turn: a write that the disk refused needs one to come to its end.
    await this.settled()
    this.assertSound()
    return this.#inTurn(async () => {
      const position = await readPosition(store, null)
      await choose().catch((error: unknown) => this.#outlast(error, choose))
      const old = this.#store
      this.#store = store
      this.#pending = []
      this.#state.caches.keySets.stop()
      this.#state = new State(store, position, this.#pending, this.#options.caches())
      this.#landedIndex = position.appliedIndex
      return old
    })
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await this.#compaction.stop()
    await this.settled()
    await this.#replacing
    const { keySets } = this.#state.caches
    keySets.stop()
    await keySets.idle()
    await this.#store.close()
  }

  #gather(): void {
    // The end of a write that is under way begins the next wait.
    if (this.#gatherTimer !== null || this.#writesUnderWay > 0) return
    this.#gatherTimer = this.#options.clock.setTimer(gatherMs, () => this.#land())
  }

  /** Begins to write what is gathered. `restored`: rows in it may not count any more. */
  #land(restored = false): void {
    const batches = this.#takeGathered()
    if (batches.length === 0) return
    const { appliedIndex } = this.#state.position
    this.#writesUnderWay += 1
    this.#writing = this.#store
      .write(together(batches))
      .then(
        () => {
          this.#landed(batches, appliedIndex)
          if (restored) this.#options.leftovers()
        },
        (error: unknown) => this.#recovered(error).catch((failure: unknown) => this.fail(failure)),
      )
      .then(() => {
        this.#writesUnderWay -= 1
        if (this.#gathered.length > 0) this.#gather()
      })
  }

  #takeGathered(): readonly Rows[] {
    this.#gatherTimer?.cancel()
    this.#gatherTimer = null
    const batches = this.#gathered
    this.#gathered = []
    this.#gatheredBytes = 0
    return batches
  }

  #landed(batches: readonly Rows[], index: LogIndex): void {
    this.#landedIndex = Math.max(this.#landedIndex, index)
    this.#pending = this.#pending.filter((rows) => !batches.includes(rows))
    this.#state.landed(this.#pending)
    if (this.#store.emptied.due) this.#compaction.request()
  }

  async #outlast(cause: unknown, attempt: () => Promise<void>): Promise<void> {
    const { gate } = this.#options
    if (gate === undefined) throw cause
    await gate.outlast('state', cause, attempt)
  }

  /** Resolves when a store takes writes again and has been given all that readers see. Rejects with `cause` if it was no refusal. */
  #recovered(cause: unknown): Promise<void> {
    this.#recovering ??= this.#recover(cause)
    return this.#recovering
  }

  async #recover(cause: unknown): Promise<void> {
    try {
      await this.#outlast(cause, () => this.#inTurn(() => this.#reopen()))
    } finally {
      this.#recovering = null
    }
  }

  /**
   * After a failed write LevelDB takes no other until it is opened anew: that needs some room, and closes what reads are made
   * from. So there has to be room first, and reads go on meanwhile.
   */
  async #reopen(): Promise<void> {
    const { folder } = this.#store
    // Not any more if a snapshot took its place.
    if (!this.#store.failed) return
    await assertDiskSpace(folder, this.#roomBytes())
    await this.#store.close()
    const store = await Store.open(folder, this.#options.limits)
    try {
      await this.#assertNotBehind(store)
    } catch (error) {
      await store.close()
      throw error
    }
    const batches = this.#pending
    // They are among those.
    this.#takeGathered()
    const { position } = this.#state
    this.#store = store
    this.#state.caches.keySets.stop()
    this.#state = new State(store, position, batches, this.#options.caches())
    // Given to the store in this turn: a batch that is published from now on comes after them. What the failed store has of
    // them already is written over, by themselves or by what came later.
    await store.write(together(batches))
    this.#landed(batches, position.appliedIndex)
    this.#options.leftovers()
  }

  async #assertNotBehind(store: Store): Promise<void> {
    const { appliedIndex } = await readPosition(store, null)
    if (appliedIndex >= this.#landedIndex) return
    throw new MusterError(
      'unavailable',
      `the state in ${store.folder} is at index ${appliedIndex} after its disk refused a write, it was at ${this.#landedIndex}: start the server again, its log brings the rest`,
    )
  }

  /** What opening the store may take: the batches of its write-ahead files as table files, and those that wait. */
  #roomBytes(): number {
    let bytes = this.#store.unflushedBytes + reopenBytes
    for (const rows of this.#pending) bytes += bytesOf(rows)
    return bytes
  }

  #inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#replacing.then(run)
    this.#replacing = result.catch(() => undefined)
    return result
  }
}

function bytesOf(rows: Rows): number {
  let bytes = 0
  for (const [key, value] of rows) bytes += key.length + (value?.byteLength ?? 0)
  return bytes
}

/** Oldest first: of each row the newest value is left. */
function together(batches: readonly Rows[]): Rows {
  const [first, ...others] = batches
  if (first !== undefined && others.length === 0) return first
  const all = new Map<string, Uint8Array | null>()
  for (const rows of batches) for (const [key, value] of rows) all.set(key, value)
  return all
}
