/**
 * The deterministic engine of the replicated state; knows no domain. May import `lib`, LevelDB and the codec package
 * (and the types of `raft/state-machine.ts`, whose contract it fulfils).
 *
 * This file is what a domain gives: tables and commands. A domain's commands are deterministic: no clock, no randomness,
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
 * `id` '': it has heard of none yet. `predecessors`: whose log went on as this one when their quorum was lost, the oldest first.
 * `beginsAt`: the entry with which it did; absent: there are none, or that entry is not in yet.
 */
export type StateCluster = {
  readonly id: string
  readonly predecessors: readonly string[]
  readonly beginsAt?: number
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
   * Keys in pages, as `encodeKey` has them, of the rows themselves (`index`: null) or of a secondary index, there with that of
   * its row behind each. No row is read.
   */
  keysBy<Row>(
    table: Table<Row>,
    index: string | null,
    range?: Range,
  ): AsyncIterable<readonly string[]>
  /** The first key of a secondary index that is not below `from`, as `encodeKey` has it; null: there is none. */
  nextBy<Row>(table: Table<Row>, index: string, from: Key): Promise<string | null>
  /**
   * Index of the last change of any row of the table, deletions included, and of a restore. At least 1.
   * Reading it does not park a reader on the table.
   */
  tableIndex(table: Table<never> | Table<unknown>): number
  /** At least 1; the index of the last operator restore. No index shown to a client is below it. */
  readonly floorIndex: number
  /** What new numbers of rows have to be above, see `counter-floor.ts`; 0 before any restore. */
  readonly counterFloor: number
  /** Whose log the state is of, as far as it has heard. */
  readonly cluster: StateCluster
  /** That the cluster runs at. Commands whose effect depends on it do on every server what the oldest program does. */
  readonly commandVersion: number
}

/** `before`: the row as the entry's reader found it, so that it is not looked up again. Absent: look it up. */
export type Change =
  | {
      readonly type: 'put'
      readonly table: Table<never>
      readonly row: unknown
      readonly before?: unknown
    }
  /** Like `put`, but the key is known to be new (a fresh UUID), so the previous row is not looked up. */
  | { readonly type: 'insert'; readonly table: Table<never>; readonly row: unknown }
  | {
      readonly type: 'delete'
      readonly table: Table<never>
      readonly key: Key
      readonly before?: unknown
    }

/** When something came about: in which entry, and the wall time that its proposer chose. */
export type Moment = { readonly index: number; readonly nowMs: number }

/**
 * Something that came about with an entry and that rows of later domains hang on: a session ended, a node is gone. A value that
 * the domain exports (`defineFact`); later domains declare reactions to it.
 */
export type Fact<Payload> = {
  /** Stored: it never changes. */
  readonly name: string
  /** Facts with the same key are about the same thing. */
  readonly key: (payload: Payload) => Key
  /** Facts whose reactions are not all written yet, see `reactions.ts`. */
  readonly marks: Table<Mark<Payload>>
}

/** A fact that readers honour while the rows that hang on it are still as they were before. */
export type Mark<Payload> = {
  readonly payload: Payload
  /** When it came about, the earliest first; at least one. */
  readonly moments: readonly Moment[]
  /** Name of the reaction that goes on, and the row that it goes on from; null: its first one. */
  readonly reaction: string
  readonly from: Key | null
}

/** A fact as it came about, made by `happened`. */
export type Happening = { readonly fact: Fact<never>; readonly payload: unknown }

/** What a reaction makes of rows. The facts that follow have the moment of the one that was reacted to. */
export type Reacted = {
  readonly changes: readonly Change[]
  readonly happened: readonly Happening[]
}

/** What becomes of the rows that hang on a fact. Its types are those of `defineReaction`, forgotten. */
export type AnyReaction = {
  /** Stored: it never changes. */
  readonly name: string
  /** The command version that brought it: below, the entry does without. Absent: that of the fact. */
  readonly sinceVersion?: number
  readonly on: Fact<never>
  /** The rows are found in this index of this table, below `prefix` of the fact. */
  readonly table: Table<never>
  readonly index: string
  readonly prefix: (payload: never) => Key
  /** The entry that made the row hang there: a fact that came about earlier does not concern it. Absent: the fact comes about once. */
  readonly since: ((row: never) => number) | null
  /** Facts that may follow. */
  readonly emits: readonly Fact<never>[]
  /**
   * At least one row. The reader sees the state before the entry. What is written is what readers
   * make of the rows while there is a mark: with the index of `moment`, which may lie before that of the entry.
   */
  readonly react: (
    reader: Reader,
    moment: Moment,
    payload: never,
    rows: readonly never[],
  ) => Reacted
}

export type ApplyContext = {
  /** The log index of the entry: CreateIndex and ModifyIndex of what it writes. */
  readonly index: number
}

export type Applied<Outcome> = {
  readonly changes: readonly Change[]
  /** Plain data for the proposer. An expected refusal (a cas mismatch) is an outcome, not an error. */
  readonly outcome: Outcome
  /** What came about with these changes, for the reactions of later domains in the same entry. */
  readonly happened?: { readonly nowMs: number; readonly facts: readonly Happening[] }
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
  /** Of the machine's own: it writes what readers see already, so it wakes none of them and moves no index. */
  readonly quiet?: true
}

export type Domain = {
  readonly name: string
  readonly tables: readonly Table<never>[]
  /** By full name, `variables.put`. */
  readonly commands: Readonly<Record<string, AnyCommandDefinition>>
  /** To facts of this domain and of earlier ones; run in the order of the domains. */
  readonly reactions?: readonly AnyReaction[]
  /** Rows that exist in a state without any write yet (the default namespace): same on every server. */
  readonly seed?: readonly Change[]
}

/** A row that an entry wrote or, when `removed`, took away: then the row as it was. */
export type ChangedRow = {
  readonly table: string
  readonly removed: boolean
  /**
   * `Machine.unpackRow` reads it. It lies in a block with its neighbours, which may be large: a listener that keeps it takes a
   * copy.
   */
  readonly packed: Uint8Array
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

/** A command as it is proposed: the name under which it is stored, and the types of what goes in and comes out. */
export type Proposable<Args, Outcome> = {
  readonly type: string
  /** Of the types alone: no value has it. */
  readonly types?: (args: Args) => Outcome
}

/** Hears of each applied command of a type. Returns the way to stop. */
export type OnCommand = <Args, Outcome>(
  command: Proposable<Args, Outcome>,
  listener: (applied: { readonly args: Args; readonly outcome: Outcome }) => void,
) => () => void

/** Of a command that is defined elsewhere: by the state machine, or from what other domains declare. */
export function proposable<Args, Outcome>(type: string): Proposable<Args, Outcome> {
  return { type }
}

/** What is proposed stays as it is: arguments may be readonly where a schema's type is not. */
export type Given<Args> = Args | ReadonlyDeep<Args>

type ReadonlyDeep<Value> = Value extends Uint8Array
  ? Value
  : { readonly [Key in keyof Value]: ReadonlyDeep<Value[Key]> }

/** A command as it travels: what `encodeCommand` takes and the machine decodes. */
export type Command = { readonly type: string; readonly args: unknown }
