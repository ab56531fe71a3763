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

/** The rows of a range of keys, or those that the entries of an index point to. */
export async function* rowPages<Row>(
  bound: BoundTable,
  keys: KeyRange,
  source: RangeSource,
): AsyncGenerator<readonly Row[]> {
  const { state, extra } = source
  const known = state.known(keys, knownRowsMax, extra)
  if (known !== null) {
    yield* rowsOfKnown<Row>(bound, known, source)
    return
  }
  const areEntries = keys.base !== bound.rowPrefix
  for await (const page of state.pages(keys, false, extra)) {
    if (areEntries) yield await rowsAt(bound, page.map(primaryOf), source)
    else yield page.map(([, bytes]) => unpack(bytes) as Row)
  }
}

/** Without what all keys begin with. `firstRowsMax`: as of `State.pages`. */
export async function* keyPages(
  keys: KeyRange,
  { state, extra }: RangeSource,
  firstRowsMax?: number,
): AsyncGenerator<readonly string[]> {
  const known = state.known(keys, pageRowsMax, extra)
  if (known !== null) {
    const start = state.generationPrefix.length + keys.base.length
    if (known.length > 0) yield known.map(({ full }) => full.slice(start))
    return
  }
  for await (const page of state.pages(keys, true, extra, firstRowsMax)) {
    yield page.map(([key]) => key.slice(keys.base.length))
  }
}

/** As `keyPages`. */
export async function firstKey(keys: KeyRange, source: RangeSource): Promise<string | null> {
  for await (const [first] of keyPages(keys, source, 1)) if (first !== undefined) return first
  return null
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

function primaryOf([, primary]: Page[number]): string {
  return Buffer.from(primary).toString()
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
