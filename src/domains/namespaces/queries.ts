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
