/**
 * Lists as they are served: of a range of rows those that the caller may see, that begin with a prefix and that a filter
 * expression matches; whole or page by page; in turns with other work. A filter that matches nothing may look at every row
 * there is, so it gives way often and stops when the caller is gone.
 */
import { setImmediate } from 'node:timers/promises'
import { Type } from 'typebox'
import type { Key, Reader, Table } from '../fsm/domain.ts'
import { MusterError } from '../lib/errors.ts'
import type { Filter } from './filter/filter.ts'
import type { QueryContext, Requirement } from './method.ts'

/** Entries of one answer that is held in memory. */
const listedMax = 200_000
/** Entries of one page that a caller may ask for; more are cut, and the token leads on. */
export const perPageMax = 100_000
/** Steps of filtering between two turns of other work: a few milliseconds. */
const stepsPerTurn = 500_000
const textBytesPerRecord = 512

/** Arguments that every list takes. */
export const Page = {
  prefix: Type.String(),
  filter: Type.String(),
  /** Null: the whole list. */
  perPage: Type.Union([Type.Null(), Type.Integer({ minimum: 1 })]),
  /** Where the page before said to go on. */
  nextToken: Type.Union([Type.Null(), Type.String()]),
}

export type PageArgs = {
  readonly perPage: number | null
  readonly nextToken: string | null
}

export type Listed<Item> = {
  readonly rows: readonly Item[]
  /** Something was left out that the caller may not see. */
  readonly filtered: boolean
  /** Null: there is no more. */
  readonly nextToken: string | null
}

export const wholeList: PageArgs = { perPage: null, nextToken: null }

export type May = (requirement: Requirement) => boolean
type Context = Pick<QueryContext, 'may' | 'signal'>
type ListedRecord = Readonly<Record<string, unknown>>

type Pages<Row> = AsyncIterable<readonly Row[]> | Iterable<readonly Row[]>

export type Scan<Row, Item extends ListedRecord> = {
  readonly pages: Pages<Row>
  /** Null: the row is not listed. What `may` refuses is noted as left out. */
  readonly show: (row: Row, may: May) => Item | null | Promise<Item | null>
  readonly filter: Filter | null
  /** What the filter is asked of. Default: the item itself. */
  readonly recordOf?: (item: Item) => ListedRecord
  /** Estimate of the texts of a record. */
  readonly recordBytes?: number
}

/** How the rows of a list are found again: they come in the order of their keys, part by part in the order of UTF-8. */
export type Order<Row> = {
  readonly keyOf: (row: Row) => Key
  /** Instead of a token of the key, where `pages` begin at the token. */
  readonly tokenOf?: (row: Row) => string
  /** Default: 200,000. Beyond it the whole list is refused. */
  readonly max?: number
}

/** All that match, page by page. */
export async function* streamed<Row, Item extends ListedRecord>(
  context: Context,
  scan: Scan<Row, Item>,
): AsyncGenerator<readonly Item[]> {
  for await (const { items } of matching(context, scan)) yield items
}

async function* matching<Row, Item extends ListedRecord>(
  context: Context,
  {
    pages,
    show,
    filter,
    recordOf = (item) => item,
    recordBytes = textBytesPerRecord,
  }: Scan<Row, Item>,
  may: May = (requirement) => context.may(requirement),
): AsyncGenerator<{ readonly rows: readonly Row[]; readonly items: readonly Item[] }> {
  const steps = (filter?.weight ?? 1) * recordBytes
  const rowsPerTurn = Math.max(1, Math.floor(stepsPerTurn / steps))
  let turn = 0
  for await (const page of pages) {
    const rows: Row[] = []
    const items: Item[] = []
    for (const row of page) {
      if (++turn >= rowsPerTurn) {
        turn = 0
        await setImmediate()
        stopIfGone(context)
      }
      const shown = show(row, may)
      const item = shown instanceof Promise ? await shown : shown
      if (item === null || (filter !== null && !filter.matches(recordOf(item)))) continue
      rows.push(row)
      items.push(item)
    }
    stopIfGone(context)
    if (items.length > 0) yield { rows, items }
  }
}

/** What a list of one thing's rows waits on: the greatest of theirs, or that of the table where there is none. */
export function indexOfRows(
  reader: Pick<Reader, 'tableIndex'>,
  table: Table<never>,
  rows: readonly { readonly modifyIndex: number }[],
): number {
  if (rows.length === 0) return reader.tableIndex(table)
  return rows.reduce((most, { modifyIndex }) => Math.max(most, modifyIndex), 0)
}

/** One page of what matches, or all of it. Throws `too_large` for a list that is longer than an answer may be. */
export async function onePage<Row, Item extends ListedRecord>(
  context: Context,
  { perPage, nextToken }: PageArgs,
  { keyOf, tokenOf, max = listedMax, ...scan }: Scan<Row, Item> & Order<Row>,
): Promise<Listed<Item>> {
  const limit = perPage === null ? Infinity : Math.min(perPage, perPageMax)
  const isBegun = nextToken === null || tokenOf !== undefined
  const pages = isBegun ? scan.pages : from(nextToken, scan.pages, keyOf)
  const found: Item[] = []
  let filtered = false
  const may = (requirement: Requirement): boolean => {
    const may = context.may(requirement)
    if (!may) filtered = true
    return may
  }
  for await (const { rows, items } of matching(context, { ...scan, pages }, may)) {
    for (const [at, row] of rows.entries()) {
      if (found.length === limit)
        return { rows: found, filtered, nextToken: tokenOf?.(row) ?? tokenOfKey(keyOf(row)) }
      if (found.length === max) {
        throw new MusterError(
          'too_large',
          `the list has more than ${max} entries: ask for it page by page, with per_page, or filter it`,
        )
      }
      const item = items[at]
      if (item !== undefined) found.push(item)
    }
  }
  return { rows: found, filtered, nextToken: null }
}

/** The rows from the one on that a token names, or that would come after it. */
async function* from<Row>(
  token: string,
  pages: Pages<Row>,
  keyOf: (row: Row) => Key,
): AsyncGenerator<readonly Row[]> {
  const start = keyOfToken(token)
  let isFound = false
  for await (const page of pages) {
    const first: number = isFound ? 0 : page.findIndex((row) => !isBefore(keyOf(row), start))
    isFound = first >= 0
    if (isFound) yield first === 0 ? page : page.slice(first)
  }
}

function tokenOfKey(key: Key): string {
  return key.map((part) => encodeURIComponent(part)).join('/')
}

/** The first part of the key that a page begins at, for rows that are read from there on. Null: at the first row. */
export function startOf({ nextToken }: Pick<PageArgs, 'nextToken'>): string | null {
  return nextToken === null ? null : (partsOfToken(nextToken)[0] ?? null)
}

function keyOfToken(token: string): readonly Buffer[] {
  return partsOfToken(token).map((part) => Buffer.from(part))
}

function partsOfToken(token: string): readonly string[] {
  try {
    return token.split('/').map((part) => decodeURIComponent(part))
  } catch {
    throw new MusterError('invalid_argument', 'next_token is not one that a page gave')
  }
}

function isBefore(key: Key, start: readonly Buffer[]): boolean {
  for (const [at, part] of start.entries()) {
    const order = Buffer.compare(Buffer.from(String(key[at] ?? '')), part)
    if (order !== 0) return order < 0
  }
  return false
}

function stopIfGone({ signal }: Context): void {
  if (signal.aborted) throw new MusterError('cancelled', 'the caller went away')
}
