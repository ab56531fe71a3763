/**
 * The subscriber to every row that entries change, as it was written or as it was before it went: told in the order of
 * the log, once the state with them is visible.
 */
import { assert } from '../lib/assert.ts'
import type { ChangedRow, ChangesListener } from './domain.ts'

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
    const row = { table, removed, packed }
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
