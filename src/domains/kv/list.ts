/**
 * What stands below a prefix, as it is served: all keys with their values, or names alone. Every row is looked at once
 * before the answer begins, for its index comes first; of a short list nothing is read twice.
 */
import type { Reader } from '../../fsm/domain.ts'
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import { onePage, streamed, type PageArgs, type Scan } from '../../rpc/list.ts'
import type { QueryContext } from '../../rpc/method.ts'
import { deletionIndex } from './deletion-queries.ts'
import { findIn } from './held-queries.ts'
import type { KeyPlace, KvRow } from './model.ts'
import type { ShownEntry } from './operation-model.ts'
import { indexOf, keysBelow, storeIndex, withValue } from './queries.ts'

/**
 * Rows of a list that are kept from its first pass; a longer list is read again as it is sent. Also rows of one page that a
 * caller may ask for, with their values.
 */
const keptRowsMax = 2_048

/** Fields of a key that a filter may name, as the list shows them. */
const filters = new FilterCompiler({
  Key: 'string',
  Session: 'string',
  Flags: 'unsigned',
  LockIndex: 'unsigned',
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
})
const textBytesPerRow = 128

export type ListArgs = PageArgs & { readonly filter: string }

/** Pages to be read once, while the query's view is open. */
export type Listing<Item> = AsyncIterable<readonly Item[]> & {
  /** Nothing of it may be seen, or there is nothing. */
  readonly empty: boolean
  /** Some of it the caller may not see. */
  readonly filtered: boolean
  /** Null: there is no more. */
  readonly nextToken: string | null
}

/** What is listed of rows. */
type Form<Item extends { readonly key: string }, Shown> = {
  /** Of one list: called with its rows page by page. */
  readonly itemsOf: () => (rows: readonly KvRow[]) => readonly Item[]
  readonly show: (item: Item) => Shown
}

/** Keys with their values. */
export function listEntries(
  reader: Reader,
  place: KeyPlace,
  args: ListArgs,
  context: QueryContext,
): Promise<{ readonly value: Listing<ShownEntry>; readonly index: number }> {
  const perPage = args.perPage === null ? null : Math.min(args.perPage, keptRowsMax)
  return list(reader, place, { ...args, perPage }, context, {
    itemsOf: () => (rows) => rows,
    show: (row) => withValue(reader, row),
  })
}

/** Names of keys, cut behind the first `separator` after the prefix; '' cuts none. */
export function listNames(
  reader: Reader,
  place: KeyPlace,
  separator: string,
  args: ListArgs,
  context: QueryContext,
): Promise<{ readonly value: Listing<string>; readonly index: number }> {
  return list(reader, place, args, context, {
    itemsOf: () => {
      let last: string | null = null
      return (rows) => {
        const items: { readonly key: string; readonly name: string }[] = []
        for (const { key } of rows) {
          const name = cut(key, place.key.length, separator)
          // What is cut to the same name stands together: keys come in order.
          if (name !== last) items.push({ key, name })
          last = name
        }
        return items
      }
    },
    show: ({ name }) => name,
  })
}

function cut(key: string, prefixLength: number, separator: string): string {
  if (separator === '') return key
  const at = key.indexOf(separator, prefixLength)
  return at < 0 ? key : key.slice(0, at + separator.length)
}

async function list<Item extends { readonly key: string }, Shown>(
  reader: Reader,
  place: KeyPlace,
  { filter, ...page }: ListArgs,
  context: QueryContext,
  { itemsOf, show }: Form<Item, Shown>,
): Promise<{ readonly value: Listing<Shown>; readonly index: number }> {
  const { index, empty, filtered, pages } = await lookThrough(reader, place, filter, context)
  async function* items() {
    const next = itemsOf()
    for await (const rows of pages()) yield next(rows)
  }
  async function* whole() {
    for await (const found of items()) yield found.map(show)
  }
  if (page.perPage === null && page.nextToken === null) {
    return { value: { empty, filtered, nextToken: null, [Symbol.asyncIterator]: whole }, index }
  }
  const { rows, nextToken } = await onePage(context, page, {
    pages: items(),
    keyOf: ({ key }) => [key],
    show: (item) => item,
    filter: null,
  })
  async function* onlyPage() {
    yield rows.map(show)
  }
  return { value: { empty, filtered, nextToken, [Symbol.asyncIterator]: onlyPage }, index }
}

type LookedThrough = {
  readonly index: number
  readonly empty: boolean
  readonly filtered: boolean
  readonly pages: () => AsyncIterable<readonly KvRow[]>
}

async function lookThrough(
  reader: Reader,
  place: KeyPlace,
  filter: string,
  context: QueryContext,
): Promise<LookedThrough> {
  const find = findIn(reader)
  let index = 0
  let filtered = false
  let seesSome = mayRead(context, place)
  const scan = (show: (stored: KvRow) => KvRow | null): Scan<KvRow, KvRow> => ({
    pages: keysBelow(reader, place),
    show,
    filter: filters.compile(filter),
    recordOf,
    recordBytes: textBytesPerRow,
  })
  const visible = (row: KvRow | null): KvRow | null => {
    if (row === null || mayRead(context, row)) return row
    filtered = true
    return null
  }
  const counted = (stored: KvRow): KvRow | null => {
    const { row, release } = find(stored)
    if (!mayRead(context, stored)) {
      if (row !== null) filtered = true
      return null
    }
    seesSome = true
    index = Math.max(index, indexOf(reader, row ?? { modifyIndex: release?.moment.index ?? 0 }))
    return row
  }
  let kept: KvRow[] = []
  let seen = 0
  for await (const rows of streamed(context, scan(counted))) {
    seen += rows.length
    if (seen <= keptRowsMax) kept.push(...rows)
    else kept = []
  }
  // Who may see nothing here, keys or none, is told the same: neither rows nor deletions count.
  if (seesSome) index = Math.max(index, await deletionIndex(reader, place))
  async function* first() {
    const rows = kept
    // Read once: they are not held for as long as the answer is.
    kept = []
    yield rows
  }
  return {
    index: index === 0 ? storeIndex(reader) : index,
    empty: seen === 0,
    filtered,
    pages: () =>
      seen <= keptRowsMax
        ? first()
        : streamed(
            context,
            scan((row) => visible(find(row).row)),
          ),
  }
}

function mayRead(context: QueryContext, { namespace, key }: KeyPlace): boolean {
  return context.may({ resource: 'key', namespace, key, access: 'read' })
}

function recordOf(row: KvRow): Readonly<Record<string, unknown>> {
  return {
    Key: row.key,
    Session: row.session ?? '',
    Flags: BigInt(row.flags),
    LockIndex: row.lockIndex,
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}
