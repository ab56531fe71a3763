/**
 * The subscriber to every row that entries change, as it was written or as it was before it went: told in the order of
 * the log, once the state with them is visible. A holder of a row holds no more than its packed bytes: a copy of them,
 * for the originals lie in blocks with their neighbours, which may be large.
 */
import { assert } from '../lib/assert.ts'
import { unpack } from './codec.ts'
import type { ChangedRow, ChangesListener } from './domain.ts'

class PackedRow implements ChangedRow {
  readonly table: string
  readonly removed: boolean
  /** Latin-1: a letter a byte. Many small texts are cheaper to keep than many small buffers. */
  readonly #packed: string

  constructor(table: string, removed: boolean, packed: Buffer) {
    this.table = table
    this.removed = removed
    this.#packed = packed.toString('latin1')
  }

  get byteLength(): number {
    return this.#packed.length
  }

  row(): unknown {
    return unpack(Buffer.from(this.#packed, 'latin1'))
  }
}

const nothing: ReadonlySet<string> = new Set()

export class ChangedRows {
  #listener: ChangesListener | null = null
  #tables = nothing
  /** The batch under way was begun before there was a listener: a part of its rows was not noted. */
  #partial = false
  /** Applied, and not visible yet. */
  #untold: { readonly index: number; readonly rows: ChangedRow[] }[] = []

  /** Returns the way to stop listening. */
  listen(tables: readonly string[], listener: ChangesListener): () => void {
    assert(this.#listener === null, 'one listens to all changes')
    this.#listener = listener
    this.#tables = new Set(tables)
    this.#partial = true
    return () => {
      this.#listener = null
      this.#tables = nothing
    }
  }

  /** A batch begins. */
  begin(): void {
    this.#untold = []
    this.#partial = false
  }

  /** Asked for every row there is. */
  wants(table: string): boolean {
    return this.#tables.has(table)
  }

  note(index: number, table: string, removed: boolean, packed: Buffer): void {
    const row = new PackedRow(table, removed, packed)
    const last = this.#untold.at(-1)
    if (last?.index === index) last.rows.push(row)
    else this.#untold.push({ index, rows: [row] })
  }

  /** The batch is visible; when another state took its place, what it changed means nothing. */
  tell(appliedIndex: number, replaced: boolean): void {
    const told = this.#untold
    if (told.length > 0) this.#untold = []
    this.#listener?.(replaced || this.#partial ? null : told, appliedIndex)
  }
}
