/** Reads of a range: by its keys where those are known, else page by page. */
import { MusterError } from '../lib/errors.ts'
import { unpack } from './codec.ts'
import type { KnownKey } from './key-set.ts'
import type { Page, State } from './state.ts'
import { pageRowsMax, type Rows } from './store.ts'
import type { BoundTable, KeyRange } from './table.ts'

/** The state that a range is read from, and over it the rows of a batch that is being built. */
export type RangeSource = { readonly state: State; readonly extra?: Rows }

/** Of so many rows a range is read by its keys: the row cache has them, or keeps them. */
const knownRowsMax = 64

export async function* rowPages<Row>(
  bound: BoundTable,
  keys: KeyRange,
  source: RangeSource,
): AsyncGenerator<readonly Row[]> {
  const known = knownOf(keys, knownRowsMax, source)
  if (known !== null) {
    yield* rowsOfKnown<Row>(bound, known, source)
    return
  }
  for await (const page of pagesOf(keys, false, source)) {
    yield page.map(([, bytes]) => unpack(bytes) as Row)
  }
}

/** The rows that the entries of an index point to. */
export async function* indexedPages<Row>(
  bound: BoundTable,
  keys: KeyRange,
  source: RangeSource,
): AsyncGenerator<readonly Row[]> {
  const known = knownOf(keys, knownRowsMax, source)
  if (known !== null) {
    yield* rowsOfKnown<Row>(bound, known, source)
    return
  }
  for await (const page of pagesOf(keys, false, source)) {
    yield await rowsAt(
      bound,
      page.map(([, primary]) => Buffer.from(primary).toString()),
      source,
    )
  }
}

/** Without what all keys begin with. */
export async function* keyPages(
  keys: KeyRange,
  source: RangeSource,
): AsyncGenerator<readonly string[]> {
  const known = knownOf(keys, pageRowsMax, source)
  if (known !== null) {
    const start = source.state.generationPrefix.length + keys.base.length
    if (known.length > 0) yield known.map(({ full }) => full.slice(start))
    return
  }
  for await (const page of pagesOf(keys, true, source)) {
    yield page.map(([key]) => key.slice(keys.base.length))
  }
}

/** As `keyPages`. */
export async function firstKey(keys: KeyRange, source: RangeSource): Promise<string | null> {
  const known = knownOf(keys, pageRowsMax, source)
  if (known !== null) {
    const start = source.state.generationPrefix.length + keys.base.length
    return known[0]?.full.slice(start) ?? null
  }
  for await (const [first] of pagesOf(keys, true, source, 1)) {
    if (first !== undefined) return first[0].slice(keys.base.length)
  }
  return null
}

function knownOf(keys: KeyRange, keysMax: number, { state, extra }: RangeSource) {
  return state.known(keys, keysMax, extra)
}

function pagesOf(
  keys: KeyRange,
  withKeys: boolean,
  { state, extra }: RangeSource,
  firstRowsMax?: number,
): AsyncIterable<Page> {
  return state.pages(keys, withKeys, extra, firstRowsMax)
}

async function* rowsOfKnown<Row>(
  bound: BoundTable,
  known: readonly KnownKey[],
  source: RangeSource,
): AsyncGenerator<readonly Row[]> {
  if (known.length === 0) return
  const { state } = source
  state.retain()
  try {
    yield await rowsAt<Row>(
      bound,
      known.map(({ full, primaryAt }) => full.slice(primaryAt)),
      source,
    )
  } finally {
    state.release()
  }
}

/** `primaries`: of the rows, without the table's prefix. */
async function rowsAt<Row>(
  bound: BoundTable,
  primaries: readonly string[],
  { state, extra }: RangeSource,
): Promise<readonly Row[]> {
  const rows = await state.rows(
    primaries.map((primary) => bound.rowPrefix + primary),
    extra,
  )
  const gap = rows.indexOf(undefined)
  if (gap < 0) return rows as readonly Row[]
  throw new MusterError(
    'corrupt',
    `table ${bound.name} has an index entry without its row, number ${gap} of a page`,
  )
}
