/** Reads of namespaces. */
import type { Reader } from '../../fsm/domain.ts'
import { isNamespaceName, type NamespaceRow } from './model.ts'
import { namespaces } from './table.ts'

/** Entries of a list; a longer one is cut. */
export const namespacesMax = 100_000

export function namespaceOf(
  reader: Reader,
  name: string,
): { readonly value: NamespaceRow | null; readonly index: number } {
  const row = isNamespaceName(name) ? reader.get(namespaces, [name]) : undefined
  return { value: row ?? null, index: row?.modifyIndex ?? reader.tableIndex(namespaces) }
}

export async function listNamespaces(
  reader: Reader,
  prefix: string,
): Promise<{ readonly value: readonly NamespaceRow[]; readonly index: number }> {
  const value: NamespaceRow[] = []
  for await (const page of reader.pages(namespaces, { startsWith: prefix })) {
    value.push(...page)
    if (value.length >= namespacesMax) break
  }
  return { value, index: reader.tableIndex(namespaces) }
}
