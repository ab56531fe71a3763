/**
 * The changes of consecutive entries on their way to one atomic write: rows, index entries, the tables' last
 * indexes. Only `load` of the entries in it sees it before it is whole.
 */
import { AssertionError, present } from '../lib/assert.ts'
import type { Configuration } from '../raft/core/message.ts'
import type { Change, Key } from './domain.ts'
import type { ChangedRows } from './changed-rows.ts'
import { pack, rowBytesMax, unpack } from './codec.ts'
import { counterFloorVersion, floorOfSuccession, succeeds } from './counter-floor.ts'
import { encodeNumber } from './keys.ts'
import { keptRow, notKept } from './kept-row.ts'
import {
  appliedRow,
  commandVersionRow,
  configurationRow,
  counterFloorRow,
  generationsRow,
} from './meta.ts'
import type { ConfigurationRow, Generations } from './meta.ts'
import type { Position, State } from './state.ts'
import { entryKey, indexEntryKey, isSameKey, keyOfRow, placeOf } from './table.ts'
import type { BoundTable, Place, Tables } from './table.ts'

/** The keys an entry changed, without generation: what watches look up. */
export type ChangedKeys = { readonly index: number; readonly keys: string[] }

/** A row for another generation. Keys are without it. */
export type StagedRow = {
  readonly key: string
  /** The part of `key` after the table's prefix, which is what index entries hold. */
  readonly primary: string
  readonly entries: readonly string[]
  readonly value: Uint8Array
  /** See `Table.counter`. */
  readonly counter: number
}

export class Batch {
  readonly state: State
  /** Full keys; the newest value of each. */
  readonly rows = new Map<string, Uint8Array | null>()
  /** Of those the rows of tables, as reading them gives them; null: removed; `notKept`: to be unpacked. */
  readonly written = new Map<string, unknown>()
  readonly changed: ChangedKeys[] = []
  readonly tableIndexes = new Map<string, number>()
  readonly #tables: Tables
  readonly #followed: ChangedRows | null
  #appliedIndex: number
  #appliedTerm: number
  #configuration: ConfigurationRow | null = null
  #generations: Generations | null = null
  #commandVersion: number | null = null
  #counterFloor: number | null = null

  /** `followed` is told of the rows that have a subscriber. */
  constructor(tables: Tables, state: State, followed: ChangedRows | null = null) {
    this.#tables = tables
    this.#followed = followed
    followed?.begin()
    this.state = state
    this.#appliedIndex = state.position.appliedIndex
    this.#appliedTerm = state.position.appliedTerm
  }

  /** The last entry that is whole in here. */
  get appliedIndex(): number {
    return this.#appliedIndex
  }

  get generations(): Generations {
    return this.#generations ?? this.state.position.generations
  }

  get commandVersion(): number {
    return this.#commandVersion ?? this.state.position.commandVersion
  }

  /** See `counter-floor.ts`. */
  get counterFloor(): number {
    return this.#counterFloor ?? this.state.position.counterFloor
  }

  get configuration(): Configuration {
    return this.#configuration?.configuration ?? this.state.position.configuration
  }

  /** The decoded row at `key`. Not to be changed. */
  row(bound: BoundTable, key: Key): unknown {
    const { full } = this.#placeOf(bound, key)
    const written = this.written.get(full)
    return written === undefined ? this.state.row(full) : this.#unpacked(full, written)
  }

  #placeOf(bound: BoundTable, key: Key): Place {
    return placeOf(bound, this.state.generationPrefix, key)
  }

  /** `before`: of the state and what earlier entries changed; absent: look it up. */
  #rowBefore(full: string, before: unknown): unknown {
    const written = this.written.get(full)
    if (written !== undefined) return this.#unpacked(full, written)
    return before === undefined ? this.state.row(full) : before
  }

  /** `written` of the row at `full`. */
  #unpacked(full: string, written: unknown): unknown {
    if (written === null) return undefined
    if (written !== notKept) return written
    return unpack(present(this.rows.get(full), 'the bytes of a row that was put'))
  }

  /** The changes of one entry, in their order. They may come in several parts. */
  change(index: number, changes: readonly Change[]): void {
    if (changes.length === 0) return
    const keys: string[] = []
    for (const change of changes) {
      if (this.#change(index, change, keys)) this.tableIndexes.set(change.table.name, index)
    }
    if (keys.length > 0) this.changed.push({ index, keys })
  }

  /** Changes that no reader sees: it saw them already, by a mark (`reactions.ts`). */
  changeQuietly(index: number, changes: readonly Change[]): void {
    for (const change of changes) this.#change(index, change, [])
  }

  /** Readers of these tables see another content from this entry on, by a mark. */
  marked(index: number, tables: Iterable<string>): void {
    for (const table of tables) this.tableIndexes.set(table, index)
  }

  setConfiguration(row: ConfigurationRow): void {
    const isSuccessor = succeeds(row.configuration, this.configuration)
    if (isSuccessor && this.commandVersion >= counterFloorVersion) {
      this.setCounterFloor(floorOfSuccession(this.counterFloor, row.index))
    }
    this.#configuration = row
  }

  setCounterFloor(floor: number): void {
    this.#counterFloor = floor
  }

  setGenerations(generations: Generations): void {
    this.#generations = generations
  }

  setCommandVersion(version: number): void {
    this.#commandVersion = version
  }

  applied(index: number, term: number): void {
    this.#appliedIndex = index
    this.#appliedTerm = term
  }

  /** Adds the machine's own rows; the batch is whole now. Returns the position after it. */
  finish(): Position {
    const before = this.state.position
    const front = this.state.generationPrefix
    for (const [table, index] of this.tableIndexes) {
      this.rows.set(front + this.#tables.get(table).tableIndexKey, Buffer.from(encodeNumber(index)))
    }
    this.rows.set(appliedRow.key, appliedRow.encode([this.#appliedIndex, this.#appliedTerm]))
    if (this.#configuration !== null) {
      const { index, configuration } = this.#configuration
      this.rows.set(
        configurationRow.key,
        configurationRow.encode({
          index,
          configuration: { ...configuration, members: [...configuration.members] },
        }),
      )
    }
    if (this.#generations !== null) {
      this.rows.set(generationsRow.key, generationsRow.encode(this.#generations))
    }
    if (this.#counterFloor !== null) {
      this.rows.set(counterFloorRow.key, counterFloorRow.encode(this.#counterFloor))
    }
    if (this.#commandVersion !== null) {
      this.rows.set(commandVersionRow.key, commandVersionRow.encode(this.#commandVersion))
    }
    return {
      appliedIndex: this.#appliedIndex,
      appliedTerm: this.#appliedTerm,
      configuration: this.configuration,
      configurationIndex: this.#configuration?.index ?? before.configurationIndex,
      generations: this.generations,
      commandVersion: this.commandVersion,
      counterFloor: this.counterFloor,
      floorIndex: before.floorIndex,
      tableIndexes:
        this.tableIndexes.size === 0
          ? before.tableIndexes
          : new Map([...before.tableIndexes, ...this.tableIndexes]),
    }
  }

  #change(index: number, change: Change, keys: string[]): boolean {
    const bound = this.#tables.get(change.table.name)
    return change.type === 'delete'
      ? this.#delete(index, bound, change, keys)
      : this.#put(index, bound, change, keys)
  }

  #put(
    entryIndex: number,
    bound: BoundTable,
    change: Exclude<Change, { readonly type: 'delete' }>,
    keys: string[],
  ): boolean {
    const { row } = change
    const { front, primary, key, full } = this.#placeOf(bound, keyOfRow(bound, row))
    if (bound.indexes.length > 0) {
      const old = change.type === 'insert' ? undefined : this.#rowBefore(full, change.before)
      let primaryBytes: Buffer | null = null
      for (const index of bound.indexes) {
        const oldKey = old === undefined ? null : index.keyOf(old as never)
        const newKey = index.keyOf(row as never)
        if (oldKey !== null && newKey !== null && isSameKey(oldKey, newKey)) {
          keys.push(entryKey(index, newKey, primary))
          continue
        }
        if (oldKey !== null) {
          const entry = entryKey(index, oldKey, primary)
          this.rows.set(front + entry, null)
          keys.push(entry)
        }
        if (newKey !== null) {
          const entry = entryKey(index, newKey, primary)
          primaryBytes ??= Buffer.from(primary)
          this.rows.set(front + entry, primaryBytes)
          keys.push(entry)
        }
      }
    }
    const bytes = packRow(bound, row)
    this.rows.set(full, bytes)
    // What is inserted may never be read: it is cached at the first read.
    this.written.set(full, change.type === 'insert' ? notKept : keptRow(row))
    keys.push(key)
    if (this.#followed?.wants(bound.name) === true) {
      this.#followed.note(entryIndex, bound.name, false, bytes)
    }
    return true
  }

  /** Deleting what is not there changes nothing. */
  #delete(
    entryIndex: number,
    bound: BoundTable,
    change: Extract<Change, { readonly type: 'delete' }>,
    keys: string[],
  ): boolean {
    const { front, primary, key, full } = this.#placeOf(bound, change.key)
    const old = this.#rowBefore(full, change.before)
    if (old === undefined) return false
    if (bound.indexes.length > 0) {
      for (const index of bound.indexes) {
        const entry = indexEntryKey(index, old, primary)
        if (entry === null) continue
        this.rows.set(front + entry, null)
        keys.push(entry)
      }
    }
    this.rows.set(full, null)
    this.written.set(full, null)
    keys.push(key)
    if (this.#followed?.wants(bound.name) === true) {
      this.#followed.note(entryIndex, bound.name, true, packRow(bound, old))
    }
    return true
  }

  /** Rows of a generation that is being staged; it has no readers. */
  stageRow(front: string, { key, primary, entries, value }: StagedRow): void {
    const primaryBytes = Buffer.from(primary)
    for (const entry of entries) this.rows.set(front + entry, primaryBytes)
    this.rows.set(front + key, value)
  }
}

export function packRow(bound: BoundTable, row: unknown): Buffer {
  const bytes = pack(row)
  if (bytes.byteLength <= rowBytesMax) return bytes
  const text = `a row has at most ${rowBytesMax} bytes; one of table ${bound.name} has ${bytes.byteLength}`
  throw new AssertionError(text)
}
