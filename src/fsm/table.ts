/**
 * Tables as the machine uses them: where their rows and index entries lie, without the generation in front.
 */
import type { TSchema } from 'typebox'
import { assert, AssertionError } from '../lib/assert.ts'
import type { Key, Range, Table } from './domain.ts'
import { compareEncoded, encodeKey, encodeRangePrefix, encodeString, kind } from './keys.ts'
import { Validator } from './validator.ts'

export type BoundIndex = {
  readonly name: string
  readonly prefix: string
  readonly keyOf: (row: never) => Key | null
}

/** Where a row lies. */
export type Place = {
  /** In front of every key of its generation. */
  readonly front: string
  readonly parts: Key
  /** The part of `key` after the table's prefix, which is what index entries hold. */
  readonly primary: string
  /** Without generation. */
  readonly key: string
  readonly full: string
}

export type BoundTable = {
  readonly name: string
  readonly table: Table<never>
  readonly rowPrefix: string
  readonly tableIndexKey: string
  readonly indexes: readonly BoundIndex[]
  /** What a row from outside has that this table's rows do not; null when it is one of them. Pure. */
  readonly faultOf: (row: unknown) => string | null
  /** The last one that was asked for, see `placeOf`. */
  last: Place | null
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
    if (bound !== undefined) return bound
    throw new AssertionError(`table ${name} is not among the tables of any domain`)
  }

  /** The table whose row has this key (without generation); undefined when it is no row of a known table. */
  ofRowKey(key: string): BoundTable | undefined {
    const end = key.indexOf('\x00\x01')
    return end < 0 ? undefined : this.#byRowPrefix.get(key.slice(0, end + 2))
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
    last: null,
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

/**
 * Where the row with this key lies. Each table keeps the last place: commands write the row that they read, and some rows are read
 * by every command. The same text again is neither made nor hashed anew.
 */
export function placeOf(bound: BoundTable, front: string, parts: Key): Place {
  const { last } = bound
  if (last !== null && last.front === front && isSameKey(last.parts, parts)) return last
  const primary = encodeKey(parts)
  const key = bound.rowPrefix + primary
  const place = { front, parts: [...parts], primary, key, full: front + key }
  bound.last = place
  return place
}

export function keyOfRow(bound: BoundTable, row: unknown): Key {
  return bound.table.key(row as never)
}

/** The key of a row's entry in an index; null when the row is not in it. Its value is the row's own key after `rowPrefix`. */
export function indexEntryKey(index: BoundIndex, row: unknown, primary: string): string | null {
  const key = index.keyOf(row as never)
  return key === null ? null : entryKey(index, key, primary)
}

/** As `indexEntryKey`, of a row that has `key` in the index. */
export function entryKey(index: BoundIndex, key: Key, primary: string): string {
  return index.prefix + encodeKey(key) + primary
}

export function isSameKey(left: Key, right: Key): boolean {
  if (left.length !== right.length) return false
  for (let at = 0; at < left.length; at += 1) if (left[at] !== right[at]) return false
  return true
}

export function indexOf(bound: BoundTable, name: string): BoundIndex {
  const found = bound.indexes.find((index) => index.name === name)
  if (found !== undefined) return found
  throw new AssertionError(`table ${bound.name} has no index ${name}`)
}

/** A range below a table's or an index's prefix, `base`: all its keys begin with `prefix`, the first is not below `from`. */
export type KeyRange = { readonly base: string; readonly prefix: string; readonly from: string }

export function keyRange(base: string, range: Range): KeyRange {
  const prefix = base + encodeRangePrefix(range)
  if (range.from === undefined) return { base, prefix, from: prefix }
  const from = base + encodeKey(range.from)
  return { base, prefix, from: compareEncoded(from, prefix) < 0 ? prefix : from }
}

/** All below a prefix. */
export function wholeRange(base: string): KeyRange {
  return { base, prefix: base, from: base }
}
