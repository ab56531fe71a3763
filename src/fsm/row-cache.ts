/**
 * Rows read or changed lately, decoded, so that a point read of them asks no database. A row is good from the applied
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

/** Bytes of encoded rows in one half. Decoded they take a few times as much. */
const halfBytesMax = 8 * 1024 * 1024

/** What an entry costs besides its bytes. */
const entryBytes = 200

/** Keys known to have no row. */
const absentMax = 256

/** Bigger rows are read each time. */
const rowBytesMax = 64 * 1024

type Kept = {
  /** The row is the same in every state from this applied index on. */
  since: number
  bytes: Uint8Array
  row: unknown
  decoded: boolean
}

export class RowCache {
  readonly #halfBytesMax: number
  #young = new Map<string, Kept>()
  #old = new Map<string, Kept>()
  #youngBytes = 0
  /** By key: since which applied index no state has a row there. */
  readonly #absent = new LruMap<string, number>(absentMax)

  constructor(bytesMax = 2 * halfBytesMax) {
    this.#halfBytesMax = bytesMax / 2
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
    if (!kept.decoded) {
      kept.row = unpack(kept.bytes)
      kept.decoded = true
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

  /** A row just read from the newest state, which stands at `appliedIndex`. */
  add(key: string, bytes: Uint8Array, row: unknown, appliedIndex: number): void {
    if (bytes.byteLength <= rowBytesMax) {
      this.#keep(key, { since: appliedIndex, bytes, row, decoded: true })
    }
  }

  /** A batch changed these rows; the state with it stands at `appliedIndex`. Rows that are not here stay so. */
  changed(rows: ReadonlyMap<string, Uint8Array | null>, appliedIndex: number): void {
    if (this.#young.size + this.#old.size + this.#absent.size === 0) return
    for (const [key, bytes] of rows) {
      this.#absent.delete(key)
      const kept = this.#young.get(key) ?? this.#old.get(key)
      if (kept === undefined) continue
      if (bytes === null || bytes.byteLength > rowBytesMax) {
        this.#young.delete(key)
        this.#old.delete(key)
      } else {
        kept.since = appliedIndex
        kept.bytes = bytes
        kept.row = undefined
        kept.decoded = false
      }
    }
  }

  #keep(key: string, kept: Kept): void {
    const bytes = entryBytes + 2 * key.length + kept.bytes.byteLength
    if (this.#youngBytes + bytes > this.#halfBytesMax) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    this.#old.delete(key)
    this.#young.set(key, kept)
    this.#youngBytes += bytes
  }
}
