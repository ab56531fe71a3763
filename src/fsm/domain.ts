/**
 * The deterministic engine of the replicated state; knows no domain. May import `lib`, LevelDB and the codec package
 * (and the types of `raft/state-machine.ts`, whose contract it fulfils).
 *
 * This file is what a domain gives: tables and commands. A domain's commands are deterministic: no clock, no chance,
 * no I/O, no locale. Ids, times, nonces and sealed bytes are in the command already, chosen by its proposer.
 */
import type { TSchema } from 'typebox'

/** Part of a key. Strings sort by their UTF-8 bytes, numbers (integers 0 to 2^53-1) by value; a key's parts never mix types in one place. */
export type KeyPart = string | number
export type Key = readonly KeyPart[]

/** A typed table. `name` is stored: it never changes. Rows are plain data that msgpack keeps whole. */
export type Table<Row> = {
  readonly name: string
  /**
   * Of `Row`: what a row from outside (an operator's archive) is checked with. It takes every row that this program writes or
   * an older one wrote, and none that would stop a command which reads it.
   */
  readonly row: TSchema
  readonly key: (row: Row) => Key
  /** Secondary indexes by name; null leaves the row out of that index. Kept in step inside the same batch. */
  readonly indexes?: Readonly<Record<string, (row: Row) => Key | null>>
  /** The highest number that the row stands for, of those that must never come again: see `counter-floor.ts`. */
  readonly counter?: (row: Row) => number
}

export type Range = {
  /** Whole parts that every key has in front. */
  readonly prefix?: Key
  /** After `prefix`, the next part is a string that starts with this. */
  readonly startsWith?: string
  /** First key to return (inclusive), in the order of the table; a whole key or the front of one. */
  readonly from?: Key
}

/**
 * Reads of one consistent state. Whatever is read through it is remembered, so that a reader can be parked
 * on exactly those rows and ranges (`fsm/watch.ts`).
 */
export interface Reader {
  /** The state's index: every entry up to here is in, none after. */
  readonly appliedIndex: number
  get<Row>(table: Table<Row>, key: Key): Row | undefined
  /** Rows in key order, in pages of bounded size; other work gets its turn between pages. */
  pages<Row>(table: Table<Row>, range?: Range): AsyncIterable<readonly Row[]>
  /** As `pages`, in the order of a secondary index. */
  pagesBy<Row>(table: Table<Row>, index: string, range?: Range): AsyncIterable<readonly Row[]>
  /**
   * Index of the last change of any row of the table, deletions included, and of a restore. At least 1.
   * Reading it does not park a reader on the table.
   */
  tableIndex(table: Table<never> | Table<unknown>): number
  /** At least 1; the index of the last operator restore. No index shown to a client is below it. */
  readonly floorIndex: number
  /** What new numbers of rows have to be above, see `counter-floor.ts`; 0 before any restore. */
  readonly counterFloor: number
  /** That the cluster runs at. Commands whose effect depends on it do on every server what the oldest program does. */
  readonly commandVersion: number
}

export type Change =
  | { readonly type: 'put'; readonly table: Table<never>; readonly row: unknown }
  /** As `put`, of a row that is not there by the making of its key: nobody looks for an old one, which would not be in memory. */
  | { readonly type: 'insert'; readonly table: Table<never>; readonly row: unknown }
  | { readonly type: 'delete'; readonly table: Table<never>; readonly key: Key }

export type ApplyContext = {
  /** The log index of the entry: CreateIndex and ModifyIndex of what it writes. */
  readonly index: number
}

export type Applied<Outcome> = {
  readonly changes: readonly Change[]
  /** Plain data for the proposer. An expected refusal (a cas mismatch) is an outcome, not an error. */
  readonly outcome: Outcome
}

export type CommandDefinition<Args, Loaded, Outcome> = {
  /** Checked when an entry is decoded; a command that does not check is an incompatible log, not a bad request. */
  readonly args: TSchema
  /** The command version that brought this command or its present arguments; 1 when absent. Proposed only when every server knows it. */
  readonly since?: number
  /** Reads the rows that `apply` needs; sees everything that earlier entries changed, also in the same batch. */
  readonly load: (reader: Reader, args: Args) => Loaded | Promise<Loaded>
  /** Pure. */
  readonly apply: (context: ApplyContext, args: Args, loaded: Loaded) => Applied<Outcome>
}

/** A command whose types only its own domain knows. */
export type AnyCommandDefinition = {
  readonly args: TSchema
  readonly since?: number
  readonly load: (reader: Reader, args: never) => unknown
  readonly apply: (context: ApplyContext, args: never, loaded: never) => Applied<unknown>
}

export type Domain = {
  readonly name: string
  readonly tables: readonly Table<never>[]
  /** By full name, `variables.put`. */
  readonly commands: Readonly<Record<string, AnyCommandDefinition>>
  /** Rows that exist in a state nobody has written to yet (the default namespace): same on every server. */
  readonly seed?: readonly Change[]
}

/** A row that an entry wrote or, when `removed`, took away: then the row as it was. */
export interface ChangedRow {
  readonly table: string
  readonly removed: boolean
  /** What it keeps in memory. */
  readonly byteLength: number
  /** Decoded anew at each call. */
  row(): unknown
}

/** What one entry changed, in the order of its changes. */
export type ChangedEntry = { readonly index: number; readonly rows: readonly ChangedRow[] }

/**
 * `entries`: those that changed something since the last call, up to `appliedIndex`; null: everything may have changed, as
 * when another state took the place of this one. Must not throw.
 */
export type ChangesListener = (
  entries: readonly ChangedEntry[] | null,
  appliedIndex: number,
) => void

/** A command as it travels: what `encodeCommand` takes and the machine decodes. */
export type Command = { readonly type: string; readonly args: unknown }
