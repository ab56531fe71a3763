/**
 * What stands below a prefix, as it is served: all keys with their values, or names alone. Every row is looked at once
 * before the answer begins, for its index comes first; of a short list nothing is read twice.
 */
import type { Reader } from '../../fsm/domain.ts'
import { MusterError } from '../../lib/errors.ts'
import type { QueryContext } from '../../rpc/method.ts'
import { deletionIndex } from './deletion-queries.ts'
import { findIn } from './held-queries.ts'
import type { KeyPlace, KvRow } from './model.ts'
import type { ShownEntry } from './operation-model.ts'
import { indexOf, keysBelow, storeIndex, withValue } from './queries.ts'

/** Rows of a list that are kept from its first pass; a longer list is read again as it is sent. */
const keptRowsMax = 2_048

/** Pages to be read once, while the query's view is open. */
export type Listing<Item> = AsyncIterable<readonly Item[]> & {
  /** Nothing of it may be seen, or there is nothing. */
  readonly empty: boolean
  /** Some of it the caller may not see. */
  readonly filtered: boolean
}

type Scan = {
  readonly index: number
  readonly empty: boolean
  readonly filtered: boolean
  readonly pages: () => AsyncIterable<readonly KvRow[]>
}

/** Keys with their values. */
export async function listEntries(
  reader: Reader,
  place: KeyPlace,
  context: QueryContext,
): Promise<{ readonly value: Listing<ShownEntry>; readonly index: number }> {
  const scanned = await scan(reader, place, context)
  const { empty, filtered, index } = scanned
  async function* pages() {
    for await (const page of scanned.pages()) yield page.map((row) => withValue(reader, row))
  }
  return { value: { empty, filtered, [Symbol.asyncIterator]: pages }, index }
}

/** Names of keys, cut behind the first `separator` after the prefix; '' cuts none. */
export async function listNames(
  reader: Reader,
  place: KeyPlace,
  separator: string,
  context: QueryContext,
): Promise<{ readonly value: Listing<string>; readonly index: number }> {
  const scanned = await scan(reader, place, context)
  const { empty, filtered, index } = scanned
  async function* pages() {
    let last: string | null = null
    for await (const page of scanned.pages()) {
      const names: string[] = []
      for (const { key } of page) {
        const name = cut(key, place.key.length, separator)
        // What is cut to the same name stands together: keys come in order.
        if (name !== last) names.push(name)
        last = name
      }
      yield names
    }
  }
  return { value: { empty, filtered, [Symbol.asyncIterator]: pages }, index }
}

function cut(key: string, prefixLength: number, separator: string): string {
  if (separator === '') return key
  const at = key.indexOf(separator, prefixLength)
  return at < 0 ? key : key.slice(0, at + separator.length)
}

async function scan(reader: Reader, place: KeyPlace, context: QueryContext): Promise<Scan> {
  const { namespace } = place
  const may = ({ key }: KvRow) => context.may({ resource: 'key', namespace, key, access: 'read' })
  let kept: KvRow[] = []
  let index = await deletionIndex(reader, place)
  let rows = 0
  let seen = 0
  const find = findIn(reader)
  for await (const page of keysBelow(reader, place)) {
    if (context.signal.aborted) throw new MusterError('cancelled', 'the caller went away')
    for (const stored of page) {
      const { row, release } = find(stored)
      index = Math.max(index, indexOf(reader, row ?? { modifyIndex: release?.moment.index ?? 0 }))
      if (row === null) continue
      rows += 1
      if (!may(row)) continue
      seen += 1
      if (seen <= keptRowsMax) kept.push(row)
      else kept = []
    }
  }
  async function* again() {
    for await (const page of keysBelow(reader, place)) {
      yield page.flatMap((stored) => find(stored).row ?? []).filter(may)
    }
  }
  async function* first() {
    const rows = kept
    // Read once: they are not held for as long as the answer is.
    kept = []
    yield rows
  }
  return {
    index: index === 0 ? storeIndex(reader) : index,
    empty: seen === 0,
    filtered: seen < rows,
    pages: seen <= keptRowsMax ? first : again,
  }
}
