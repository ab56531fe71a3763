/**
 * Decoded rows of small tables that nearly every command looks at (a namespace, a data key), kept for as long as their
 * table does not change. A table's index names its content: after an install or a restore it is another, or the rows
 * are the same.
 */
import type { Key, Table } from './domain.ts'
import { encodeKey } from './keys.ts'

/** Rows kept of one table; when there are more, it begins anew. */
const rowsMax = 1_024

type Kept = { index: number; readonly rows: Map<string, unknown> }

export class HotRows {
  readonly #tables = new Map<string, Kept>()

  /** The row of `key`, read by `read` unless the table stands at `index` since it was read last. */
  get<Row>(
    table: Table<Row>,
    key: Key,
    index: number,
    read: () => Row | undefined,
  ): Row | undefined {
    const kept = this.#keptAt(table.name, index)
    const name = encodeKey(key)
    if (kept.rows.has(name)) return kept.rows.get(name) as Row | undefined
    const row = read()
    if (kept.rows.size >= rowsMax) kept.rows.clear()
    kept.rows.set(name, row)
    return row
  }

  #keptAt(name: string, index: number): Kept {
    let kept = this.#tables.get(name)
    if (kept === undefined) {
      kept = { index, rows: new Map() }
      this.#tables.set(name, kept)
    } else if (kept.index !== index) {
      kept.index = index
      kept.rows.clear()
    }
    return kept
  }
}
