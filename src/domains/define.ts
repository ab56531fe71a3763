/**
 * The features of the product, a folder each, with the same file names inside: `model` (records, limits, parsing),
 * `table`, `commands`, `queries`, `methods`, `routes`, `duties`. `registry.ts` names them in order.
 *
 * This file is how a domain writes down a command and its changes with their types kept. The four deterministic roles
 * (model, table, commands, queries) import `lib`, `fsm`, this file, and the same roles of earlier domains.
 */
import { Type, type Static, type TSchema } from 'typebox'
import type {
  AnyCommandDefinition,
  Change,
  CommandDefinition,
  Key,
  Proposable,
  Reader,
  Table,
} from '../fsm/domain.ts'

const timeMsMax = 8_640_000_000_000_000
/** Milliseconds of a clock, chosen by the proposer: what a date can be, and a key can hold. */
export const TimeMs = Type.Integer({ minimum: 0, maximum: timeMsMax })

/** The last time that there is, where the sum is beyond it. */
export function timeAfter(timeMs: number, ms: number): number {
  return Math.min(timeMsMax, timeMs + ms)
}

type TypedCommand<Args extends TSchema, Loaded, Outcome> = CommandDefinition<
  Static<Args>,
  Loaded,
  Outcome
> & {
  /** `variables.put`: stored, so it never changes. */
  readonly type: string
  readonly args: Args
}

/** The argument types follow from the schema. The machine, which checks it, knows the command without them; its proposers with them. */
export function defineCommand<Args extends TSchema, Loaded, Outcome>(
  command: TypedCommand<Args, Loaded, Outcome>,
): AnyCommandDefinition & Proposable<Static<Args>, Outcome> {
  return command
}

/** As a domain gives them to the machine. */
export function commandsByType(
  commands: readonly (AnyCommandDefinition & { readonly type: string })[],
): Readonly<Record<string, AnyCommandDefinition>> {
  return Object.fromEntries(commands.map((command) => [command.type, command]))
}

export function put<Row>(table: Table<Row>, row: Row): Change {
  return { type: 'put', table, row }
}

/** `before`: as the entry's reader found it. */
export function replace<Row>(table: Table<Row>, before: Row, row: Row): Change {
  return { type: 'put', table, row, before }
}

/** Only under a key that is new with this row: random, or the entry's index. */
export function insert<Row>(table: Table<Row>, row: Row): Change {
  return { type: 'insert', table, row }
}

export function remove<Row>(table: Table<Row>, key: Key): Change {
  return { type: 'delete', table, key }
}

/** `before`: as the entry's reader found it. */
export function removeRow<Row>(table: Table<Row>, before: Row): Change {
  return { type: 'delete', table, key: table.key(before), before }
}

/** Then it has no rows. It may have none otherwise: after a restore this is not known. */
export function wasNeverWritten(
  reader: Pick<Reader, 'tableIndex'>,
  table: Table<never> | Table<unknown>,
): boolean {
  return reader.tableIndex(table) === 1
}

/** Whether one of the rows stands. Only so many are looked at; more mean yes. */
export async function anyStands<Row>(
  pages: AsyncIterable<readonly Row[]>,
  stands: (row: Row) => boolean,
  rowsMax: number,
): Promise<boolean> {
  let looked = 0
  for await (const page of pages) {
    if (page.some(stands)) return true
    looked += page.length
    if (looked >= rowsMax) return true
  }
  return false
}

/** The first row of a range, null when it is empty. */
export async function firstOf<Row>(pages: AsyncIterable<readonly Row[]>): Promise<Row | null> {
  for await (const page of pages) {
    for (const row of page) return row
  }
  return null
}
