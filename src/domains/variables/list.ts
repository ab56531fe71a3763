/**
 * Lists of variables as they are served: filtered, cut into pages, and in turns with other work. A filter that
 * matches nothing may look at every row there is, so it gives way often and stops when the caller is gone.
 */
import { setImmediate } from 'node:timers/promises'
import { MusterError } from '../../lib/errors.ts'
import { FilterCompiler, type Filter } from '../../rpc/filter/filter.ts'
import type { QueryContext } from '../../rpc/method.ts'
import { listToken, type VariableRow } from './model.ts'

/** Fields of an entry that a filter may name, as the list shows them. */
export const listFields = {
  Namespace: 'string',
  Path: 'string',
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
  CreateTime: 'integer',
  ModifyTime: 'integer',
} as const

/** Over `listFields`. */
export const listFilters = new FilterCompiler(listFields)

/** Steps of filtering between two turns of other work: a few milliseconds. */
const stepsPerTurn = 500_000
const textBytesPerRow = 128

/** Entries of one page that a caller may ask for; more are cut, and the token leads on. */
export const perPageMax = 100_000

type Scan = {
  readonly sources: readonly AsyncIterable<readonly VariableRow[]>[]
  readonly filter: Filter | null
  readonly context: QueryContext
}

/** All that match, page by page. */
export async function* matching({
  sources,
  filter,
  context,
}: Scan): AsyncGenerator<readonly VariableRow[]> {
  const rowsPerTurn = Math.max(
    1,
    Math.floor(stepsPerTurn / ((filter?.weight ?? 1) * textBytesPerRow)),
  )
  let turn = 0
  for (const source of sources) {
    for await (const page of source) {
      const kept: VariableRow[] = []
      for (const row of page) {
        if (++turn >= rowsPerTurn) {
          turn = 0
          await setImmediate()
          stopIfGone(context)
        }
        if (isListed(row, context) && (filter === null || filter.matches(filtered(row)))) {
          kept.push(row)
        }
      }
      stopIfGone(context)
      if (kept.length > 0) yield kept
    }
  }
}

/** The first `perPage` that match, and the token of the next match if there is one. */
export async function onePage(
  scan: Scan,
  perPage: number,
): Promise<{ readonly rows: readonly VariableRow[]; readonly nextToken: string | null }> {
  const limit = Math.min(perPage, perPageMax)
  const rows: VariableRow[] = []
  for await (const page of matching(scan)) {
    for (const row of page) {
      if (rows.length === limit) return { rows, nextToken: listToken(row) }
      rows.push(row)
    }
  }
  return { rows, nextToken: null }
}

function isListed({ namespace, path }: VariableRow, context: QueryContext): boolean {
  return context.may({ resource: 'variables', namespace, path, access: 'list' })
}

function filtered(row: VariableRow): Readonly<Record<string, unknown>> {
  return {
    Namespace: row.namespace,
    Path: row.path,
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
    CreateTime: BigInt(row.createTimeMs) * 1_000_000n,
    ModifyTime: BigInt(row.modifyTimeMs) * 1_000_000n,
  }
}

function stopIfGone(context: QueryContext): void {
  if (context.signal.aborted) throw new MusterError('cancelled', 'the caller went away')
}
