/**
 * Readers: typed rows of one state. A `View` stays with the state it was opened on, also while later entries are
 * applied, and remembers what it read, so that its owner can be parked on just that.
 */
import { present } from '../lib/assert.ts'
import { MusterError } from '../lib/errors.ts'
import type { Configuration } from '../raft/core/message.ts'
import type { Key, Range, Reader, StateCluster, Table } from './domain.ts'
import type { Batch } from './batch.ts'
import { firstKey, keyPages, rowPages, type RangeSource } from './ranges.ts'
import type { State } from './state.ts'
import { indexOf, keyRange, placeOf } from './table.ts'
import type { BoundTable, Tables } from './table.ts'
import { asTouched, Touched } from './touched.ts'

/** What a reader reads, and where it notes it. */
export type ReaderSource = {
  readonly tables: Tables
  readonly state: () => State
  readonly touched?: Touched | null
}

class TableReader implements Reader {
  readonly #source: ReaderSource

  constructor(source: ReaderSource) {
    this.#source = source
  }

  get appliedIndex(): number {
    return this.#source.state().position.appliedIndex
  }

  get floorIndex(): number {
    return Math.max(1, this.#source.state().position.floorIndex)
  }

  get counterFloor(): number {
    return this.#source.state().position.counterFloor
  }

  get cluster(): StateCluster {
    return clusterOf(this.#source.state().position.configuration)
  }

  get commandVersion(): number {
    return this.#source.state().position.commandVersion
  }

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    const { tables, state, touched } = this.#source
    const bound = tables.get(table.name)
    const current = state()
    const place = placeOf(bound, current.generationPrefix, key)
    touched?.addKey(place.key, bound.rowPrefix)
    return current.row(place.full) as Row | undefined
  }

  pages<Row>(table: Table<Row>, range: Range = {}): AsyncIterable<readonly Row[]> {
    return this.#rows(table, null, range)
  }

  pagesBy<Row>(table: Table<Row>, index: string, range: Range = {}): AsyncIterable<readonly Row[]> {
    return this.#rows(table, index, range)
  }

  #rows<Row>(table: Table<Row>, index: string | null, range: Range): AsyncIterable<readonly Row[]> {
    const { tables, state, touched } = this.#source
    const bound = tables.get(table.name)
    const keys = keyRange(keysBase(bound, index), range)
    touched?.addPrefix(keys.prefix)
    return { [Symbol.asyncIterator]: () => rowPages<Row>(bound, keys, { state: state() }) }
  }

  keysBy<Row>(
    table: Table<Row>,
    index: string | null,
    range: Range = {},
  ): AsyncIterable<readonly string[]> {
    const { tables, state, touched } = this.#source
    const prefix = keysBase(tables.get(table.name), index)
    const keys = keyRange(prefix, range)
    touched?.addPrefix(keys.prefix)
    return { [Symbol.asyncIterator]: () => keyPages(keys, { state: state() }) }
  }

  nextBy<Row>(table: Table<Row>, index: string, from: Key): Promise<string | null> {
    const { tables, state, touched } = this.#source
    const { prefix } = indexOf(tables.get(table.name), index)
    touched?.addPrefix(prefix)
    return firstKey(keyRange(prefix, { from }), { state: state() })
  }

  tableIndex(table: Table<never> | Table<unknown>): number {
    const { tables, state } = this.#source
    const { position } = state()
    const changed = position.tableIndexes.get(tables.get(table.name).name) ?? 0
    return Math.max(1, position.floorIndex, changed)
  }
}

/** Always the newest state: between two awaits it may move on. Its pages are of one state, that of the first page. */
export class LiveReader extends TableReader {}

/** See `machine.view`. The opener closes it, so that the state it stays with can go. */
export class View extends TableReader {
  readonly #touched: Touched | null
  readonly #onClose: () => void
  #state: State | null

  constructor(tables: Tables, state: State, remembers: boolean, onClose: () => void) {
    const touched = remembers ? new Touched() : null
    super({ tables, touched, state: () => this.#open() })
    state.retain()
    this.#touched = touched
    this.#state = state
    this.#onClose = onClose
  }

  /** What was read so far, of a view that remembers. Stays good after `close`. */
  touched(): Touched {
    return present(this.#touched, 'what a view read that does not remember')
  }

  alsoTouched(touched: object): void {
    this.touched().addAll(asTouched(touched))
  }

  /** Harmless when done twice. Pages that are being read go on to their end. */
  close(): void {
    if (this.#state === null) return
    this.#state.release()
    this.#state = null
    this.#onClose()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #open(): State {
    if (this.#state === null)
      throw new MusterError('internal', 'a view was read after it was closed')
    return this.#state
  }
}

/** What `load` reads through: the state, and over it what earlier entries of the same batch changed. */
export class BatchReader implements Reader {
  readonly #tables: Tables
  readonly #batch: Batch
  readonly #source: RangeSource

  constructor(tables: Tables, batch: Batch) {
    this.#tables = tables
    this.#batch = batch
    this.#source = { state: batch.state, extra: batch.rows }
  }

  get appliedIndex(): number {
    return this.#batch.appliedIndex
  }

  get floorIndex(): number {
    return Math.max(1, this.#batch.state.position.floorIndex)
  }

  get counterFloor(): number {
    return this.#batch.counterFloor
  }

  get cluster(): StateCluster {
    return clusterOf(this.#batch.configuration)
  }

  get commandVersion(): number {
    return this.#batch.commandVersion
  }

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    return this.#batch.row(this.#tables.get(table.name), key) as Row | undefined
  }

  pages<Row>(table: Table<Row>, range: Range = {}): AsyncIterable<readonly Row[]> {
    return this.#rows(table, null, range)
  }

  pagesBy<Row>(table: Table<Row>, index: string, range: Range = {}): AsyncIterable<readonly Row[]> {
    return this.#rows(table, index, range)
  }

  #rows<Row>(table: Table<Row>, index: string | null, range: Range): AsyncIterable<readonly Row[]> {
    const bound = this.#tables.get(table.name)
    const keys = keyRange(keysBase(bound, index), range)
    return { [Symbol.asyncIterator]: () => rowPages<Row>(bound, keys, this.#source) }
  }

  keysBy<Row>(
    table: Table<Row>,
    index: string | null,
    range: Range = {},
  ): AsyncIterable<readonly string[]> {
    const prefix = keysBase(this.#tables.get(table.name), index)
    const keys = keyRange(prefix, range)
    return { [Symbol.asyncIterator]: () => keyPages(keys, this.#source) }
  }

  nextBy<Row>(table: Table<Row>, index: string, from: Key): Promise<string | null> {
    const { prefix } = indexOf(this.#tables.get(table.name), index)
    return firstKey(keyRange(prefix, { from }), this.#source)
  }

  tableIndex(table: Table<never> | Table<unknown>): number {
    const { position } = this.#batch.state
    const { name } = this.#tables.get(table.name)
    const changed = this.#batch.tableIndexes.get(name) ?? position.tableIndexes.get(name) ?? 0
    return Math.max(1, position.floorIndex, changed)
  }
}

function clusterOf({ clusterId, succession }: Configuration): StateCluster {
  const { predecessors = [], beginsAt = 0 } = succession ?? {}
  return { id: clusterId, predecessors, ...(beginsAt > 0 && { beginsAt }) }
}

/** What all keys of the rows (null), or of an index, begin with. */
function keysBase(bound: BoundTable, index: string | null): string {
  return index === null ? bound.rowPrefix : indexOf(bound, index).prefix
}
