/**
 * Tables as the machine uses them: where their rows and index entries lie, without the generation in front.
 */
import type { TSchema } from 'typebox'
import { assert, present } from '../lib/assert.ts'
import type { Key, Range, Table } from './domain.ts'
import { compareEncoded, encodeKey, encodeRangePrefix, encodeString, kind } from './keys.ts'
import { Validator } from './validator.ts'

export type BoundIndex = {
  readonly name: string
  readonly prefix: string
  readonly keyOf: (row: never) => Key | null
}

export type BoundTable = {
  readonly name: string
  readonly table: Table<never>
  readonly rowPrefix: string
  readonly tableIndexKey: string
  readonly indexes: readonly BoundIndex[]
  /** What a row from outside has that this table's rows do not; null when it is one of them. Pure. */
  readonly faultOf: (row: unknown) => string | null
}

/** All tables of a program, by name. */
export class Tables {
  readonly #tables = new Map<string, BoundTable>()
  readonly #byRowPrefix = new Map<string, BoundTable>()

  constructor(tables: Iterable<Table<never>>) {
    for (const table of tables) {
      assert(!this.#tables.has(table.name), `table ${table.name} is given twice`)
      const bound = bind(table)
      this.#tables.set(table.name, bound)
      this.#byRowPrefix.set(bound.rowPrefix, bound)
    }
  }

  get(name: string): BoundTable {
    const bound = this.#tables.get(name)
    assert(bound !== undefined, `table ${name} is not among the tables of any domain`)
    return bound
  }

  /** The table whose row has this key (without generation); undefined when it is no row of a known table. */
  ofRowKey(key: string): BoundTable | undefined {
    const end = key.indexOf('\x00\x01')
    return end < 0 ? undefined : this.#byRowPrefix.get(key.slice(0, end + 2))
  }

  /** The name in a `tableIndex` key (without generation). */
  ofTableIndexKey(key: string): string {
    return key.slice(1, -2)
  }
}

function bind(table: Table<never>): BoundTable {
  const name = encodeString(table.name)
  const indexes = Object.entries(table.indexes ?? {}).map(([index, keyOf]) => ({
    name: index,
    prefix: kind.index + name + encodeString(index),
    keyOf,
  }))
  return {
    name: table.name,
    table,
    rowPrefix: kind.row + name,
    tableIndexKey: kind.tableIndex + name,
    indexes,
    faultOf: faultFinder(table.row),
  }
}

function faultFinder(schema: TSchema): (row: unknown) => string | null {
  const validator = new Validator(schema)
  return (row) => {
    if (validator.accepts(row)) return null
    const fault = validator.faultOf(row)
    return fault === null ? 'it is another record' : `${fault.path} ${fault.text}`
  }
}

export function rowKey(bound: BoundTable, key: Key): string {
  return bound.rowPrefix + encodeKey(key)
}

export function keyOfRow(bound: BoundTable, row: unknown): Key {
  return bound.table.key(row as never)
}

/** The key of a row's entry in an index; null when the row is not in it. Its value is the row's own key after `rowPrefix`. */
export function indexEntryKey(index: BoundIndex, row: unknown, primary: string): string | null {
  const key = index.keyOf(row as never)
  return key === null ? null : index.prefix + encodeKey(key) + primary
}

export function indexOf(bound: BoundTable, name: string): BoundIndex {
  return present(
    bound.indexes.find((index) => index.name === name),
    `index ${name} of table ${bound.name}`,
  )
}

/** A range below a table's or an index's prefix: all its keys begin with `prefix`, the first is not below `from`. */
export type KeyRange = { readonly prefix: string; readonly from: string }

export function keyRange(base: string, range: Range): KeyRange {
  const prefix = base + encodeRangePrefix(range)
  if (range.from === undefined) return { prefix, from: prefix }
  const from = base + encodeKey(range.from)
  return { prefix, from: compareEncoded(from, prefix) < 0 ? prefix : from }
}
