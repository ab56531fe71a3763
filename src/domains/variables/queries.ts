/** Reads of variables: one, and lists as pages that are sought, not scanned to. */
import type { Range, Reader } from '../../fsm/domain.ts'
import { allOf } from '../../lib/pages.ts'
import { allNamespaces } from '../namespaces/model.ts'
import { namespaces } from '../namespaces/table.ts'
import type { ListStart, SealedRow, VariableRow } from './model.ts'
import { sealedItems, variables } from './table.ts'

export type FoundVariable = { readonly row: VariableRow; readonly sealed: SealedRow }

/** The index to block on: the variable's own, or the table's while there is none. */
export function variableOf(
  reader: Reader,
  namespace: string,
  path: string,
): { readonly found: FoundVariable | null; readonly index: number } {
  const row = reader.get(variables, [namespace, path])
  const sealed = row === undefined ? undefined : reader.get(sealedItems, [namespace, path])
  if (row === undefined || sealed === undefined) {
    return { found: null, index: reader.tableIndex(variables) }
  }
  // A row restored from another cluster's archive may be ahead of this log: its next change would then seem older.
  return { found: { row, sealed }, index: Math.min(row.modifyIndex, reader.appliedIndex) }
}

export type ListRange = {
  /** A name, or `*`. */
  readonly namespace: string
  readonly prefix: string
  /** null: from the beginning */
  readonly start: ListStart | null
}

/** Namespaces that a list with a prefix visits one by one; with more, the table is read through. */
const visitedMax = 1_000

/**
 * Rows by namespace and path in byte order. The ranges are taken before this resolves, the rows read as the result is
 * iterated. A page may be empty.
 */
export async function listVariables(
  reader: Reader,
  { namespace, prefix, start }: ListRange,
): Promise<readonly AsyncIterable<readonly VariableRow[]>[]> {
  const from = start === null ? {} : { from: [start.namespace, start.path] }
  const inNamespace = (name: string): Range => ({ prefix: [name], startsWith: prefix, ...from })
  if (namespace !== allNamespaces) {
    // A token of an earlier namespace starts at the beginning, one of a later finds nothing: `from` sees to both.
    return [reader.pages(variables, inNamespace(namespace))]
  }
  if (prefix === '') return [reader.pages(variables, from)]
  const known = await allOf(reader.pages(namespaces), visitedMax + 1)
  if (known.length <= visitedMax) {
    return known.map(({ name }) => reader.pages(variables, inNamespace(name)))
  }
  return [withPrefix(reader.pages(variables, from), prefix)]
}

async function* withPrefix(
  pages: AsyncIterable<readonly VariableRow[]>,
  prefix: string,
): AsyncGenerator<readonly VariableRow[]> {
  for await (const page of pages) yield page.filter(({ path }) => path.startsWith(prefix))
}
