/** Lists of variables as they are served. */
import type { Filter } from '../../rpc/filter/filter.ts'
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import type { Order, Scan } from '../../rpc/list.ts'
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

const textBytesPerRow = 128

export type Sources = readonly AsyncIterable<readonly VariableRow[]>[]

/** `sources` begin where the token of the page before says. */
export function scanOf(
  sources: Sources,
  filter: Filter | null,
): Scan<VariableRow, VariableRow> & Order<VariableRow> {
  return {
    pages: oneByOne(sources),
    show: (row, may) => {
      const { namespace, path } = row
      return may({ resource: 'variables', namespace, path, access: 'list' }) ? row : null
    },
    filter,
    recordOf: filtered,
    recordBytes: textBytesPerRow,
    keyOf: ({ namespace, path }) => [namespace, path],
    tokenOf: listToken,
  }
}

async function* oneByOne(sources: Sources): AsyncGenerator<readonly VariableRow[]> {
  for (const source of sources) yield* source
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
