/** A namespace as clients read it, and as filters of lists do. */
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import type { NamespaceRow } from './model.ts'

export function shownNamespace(row: NamespaceRow) {
  return {
    Name: row.name,
    Description: row.description,
    Meta: Object.fromEntries(row.meta),
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

export const namespaceFilters = new FilterCompiler({
  Name: 'string',
  Description: 'string',
  Meta: { map: 'string' },
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
})
