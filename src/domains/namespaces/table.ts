/** Rows of namespaces, by name. */
import type { Change, Table } from '../../fsm/domain.ts'
import { put } from '../define.ts'
import { defaultNamespace, NamespaceRow } from './model.ts'

export const namespaces: Table<NamespaceRow> = {
  name: 'namespaces',
  row: NamespaceRow,
  key: (row) => [row.name],
}

/** Part of every state from the start: written at index 1, as no index shown is 0. */
export const namespaceSeed: readonly Change[] = [
  put(namespaces, {
    name: defaultNamespace,
    description: 'Default shared namespace',
    meta: [],
    createIndex: 1,
    modifyIndex: 1,
  }),
]
