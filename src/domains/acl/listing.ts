/** Lists of tokens, policies and roles: filtered, cut into pages, in turns with other work. */
import { setImmediate } from 'node:timers/promises'
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import type { Filter } from '../../rpc/filter/filter.ts'

/** Entries of one answer. */
export const listedMax = 100_000
const rowsPerTurn = 500

/** Arguments that all lists take. */
export const Page = {
  prefix: Type.String(),
  filter: Type.String(),
  /** Null: the whole list. */
  perPage: Type.Union([Type.Null(), Type.Integer({ minimum: 1 })]),
  nextToken: Type.Union([Type.Null(), Type.String()]),
}

export type Listed<Shown> = {
  readonly rows: readonly Shown[]
  readonly nextToken: string | null
}

type Scan<Row, Shown> = {
  readonly pages: AsyncIterable<readonly Row[]>
  readonly isWanted: (row: Row) => boolean
  readonly keyOf: (row: Row) => string
  readonly show: (row: Row) => Shown
  readonly filter: Filter | null
  readonly page: { readonly perPage: number | null; readonly nextToken: string | null }
  readonly signal: Pick<AbortSignal, 'aborted'>
}

/** Rows come in the order of their keys; the token is the key of the next match. */
export async function onePage<Row, Shown extends Readonly<Record<string, unknown>>>(
  scan: Scan<Row, Shown>,
): Promise<Listed<Shown>> {
  const { filter, page, signal } = scan
  const rows: Shown[] = []
  let turn = 0
  for await (const part of scan.pages) {
    for (const row of part) {
      if (++turn % rowsPerTurn === 0) {
        await setImmediate()
        if (signal.aborted) throw new MusterError('cancelled', 'the caller went away')
      }
      const key = scan.keyOf(row)
      if (page.nextToken !== null && key < page.nextToken) continue
      if (!scan.isWanted(row)) continue
      const shown = scan.show(row)
      if (filter !== null && !filter.matches(shown)) continue
      if (rows.length === page.perPage) return { rows, nextToken: key }
      if (rows.length === listedMax) {
        throw new MusterError('too_large', `the list has more than ${listedMax} entries: filter it`)
      }
      rows.push(shown)
    }
  }
  return { rows, nextToken: null }
}
