/**
 * Rows read or written lately, decoded, so that a point read of them asks no database. A row is good from the applied
 * index it was seen at until a batch changes it: a state older than that reads past the cache.
 *
 * Of keys without a row the last ones asked for are remembered too: some are asked for by every command, such as the one that
 * says that there are marks.
 *
 * Two halves, young and old. What is found in the old half moves to the young one; when that is full it becomes the old
 * one and the old one goes. Rows from here are shared: no caller changes a row.
 */
import { LruMap } from '../lib/lru-map.ts'
import { unpack } from './codec.ts'
import { notKept } from './kept-row.ts'

/** Bytes of encoded rows. Decoded they take a few times as much. */
export const rowCacheBytes = 16 * 1024 * 1024

/** What an entry costs besides its bytes. */
const entryBytes = 200

/** Keys known to have no row. */
const absentMax = 256

/** Bigger rows are read each time. */
const rowBytesMax = 64 * 1024

type Kept = {
  /** The row is the same in every state from this applied index on. */
  since: number
  /** Packed, when nobody has read it; null: `row` is it. */
  packed: Uint8Array | null
  row: unknown
  /** Of the packed row. */
  bytes: number
}

/** What a batch did to rows of tables, by full key: see `Batch`. */
export type Written = {
  readonly rows: ReadonlyMap<string, Uint8Array | null>
  readonly written: ReadonlyMap<string, unknown>
}

export class RowCache {
  #halfBytesMax = 0
  #young = new Map<string, Kept>()
  #old = new Map<string, Kept>()
  #youngBytes = 0
  /** By key: since which applied index no state has a row there. */
  readonly #absent = new LruMap<string, number>(absentMax)

  constructor(bytesMax = rowCacheBytes) {
    this.resize(bytesMax)
  }

  /** What is too much from now on goes at once. */
  resize(bytesMax: number): void {
    const shrinks = bytesMax / 2 < this.#halfBytesMax
    this.#halfBytesMax = bytesMax / 2
    if (!shrinks) return
    if (this.#youngBytes > this.#halfBytesMax) this.#startHalf()
    this.#old = new Map()
  }

  /** The row at the full key `key` in a state at `appliedIndex`; undefined when it is not known here. */
  get(key: string, appliedIndex: number): unknown {
    let kept = this.#young.get(key)
    if (kept === undefined) {
      kept = this.#old.get(key)
      if (kept === undefined) return undefined
      this.#keep(key, kept)
    }
    if (kept.since > appliedIndex) return undefined
    if (kept.packed !== null) {
      kept.row = unpack(kept.packed)
      kept.packed = null
    }
    return kept.row
  }

  /** Whether a state at `appliedIndex` is known to have no row at the full key `key`. */
  isAbsent(key: string, appliedIndex: number): boolean {
    const since = this.#absent.get(key)
    return since !== undefined && since <= appliedIndex
  }

  /** The newest state, which stands at `appliedIndex`, was just found to have no row there. */
  addAbsent(key: string, appliedIndex: number): void {
    this.#absent.set(key, appliedIndex)
  }

  /** A row just read from the newest state, which stands at `appliedIndex`; `bytes`: packed. */
  add(key: string, bytes: number, row: unknown, appliedIndex: number): void {
    if (bytes <= rowBytesMax) this.#keep(key, { since: appliedIndex, packed: null, row, bytes })
  }

  /** A batch changed these rows; the state with it stands at `appliedIndex`. */
  changed({ rows, written }: Written, appliedIndex: number): void {
    for (const [key, row] of written) {
      const young = this.#young.get(key)
      const kept = young ?? this.#old.get(key)
      // What has a row here is not among the absent.
      if (kept === undefined) this.#absent.delete(key)
      const packed = rows.get(key) ?? null
      if (row === null || packed === null || packed.byteLength > rowBytesMax) {
        if (kept === undefined) continue
        this.#young.delete(key)
        this.#old.delete(key)
      } else if (kept !== undefined) {
        if (young !== undefined) this.#youngBytes += packed.byteLength - kept.bytes
        kept.bytes = packed.byteLength
        kept.since = appliedIndex
        kept.packed = row === notKept ? packed : null
        kept.row = row === notKept ? undefined : row
      } else if (row !== notKept) {
        this.add(key, packed.byteLength, row, appliedIndex)
      }
    }
  }

  #keep(key: string, kept: Kept): void {
    const bytes = entryBytes + 2 * key.length + kept.bytes
    if (this.#youngBytes + bytes > this.#halfBytesMax) this.#startHalf()
    this.#old.delete(key)
    this.#young.set(key, kept)
    this.#youngBytes += bytes
  }

  #startHalf(): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#youngBytes = 0
  }
}
