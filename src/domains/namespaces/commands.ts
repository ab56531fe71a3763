/** Changes of namespaces. Whether one may be deleted is decided in its entry, against the state at that very index. */
import { Type, type Static } from 'typebox'
import { proposable, type Applied } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, put, remove } from '../define.ts'
import { defaultNamespace, Description, Meta, NamespaceName, type NamespaceRow } from './model.ts'
import { namespaces } from './table.ts'
import type { NamespaceTenant } from './tenant-model.ts'

export type PutNamespaceOutcome = { readonly row: NamespaceRow }

export type DeleteNamespaceOutcome =
  | { readonly type: 'deleted' }
  | { readonly type: 'unknown' }
  | { readonly type: 'default' }
  | { readonly type: 'occupied'; readonly by: readonly string[] }

const PutNamespace = Type.Object({
  name: NamespaceName,
  description: Description,
  meta: Meta,
})

const DeleteNamespace = Type.Object({ name: NamespaceName })

export const putNamespace = defineCommand({
  type: 'namespaces.put',
  args: PutNamespace,
  load: (reader, { name }) => reader.get(namespaces, [name]),
  apply: ({ index }, args, before): Applied<PutNamespaceOutcome> => {
    const row: NamespaceRow = {
      name: args.name,
      description: args.description,
      meta: args.meta,
      createIndex: before?.createIndex ?? index,
      modifyIndex: index,
    }
    return { changes: [put(namespaces, row)], outcome: { row } }
  },
})

/** What lives in namespaces is in the way: which domains have such things is known once all are composed. */
const deletion = (tenants: readonly NamespaceTenant[]) =>
  defineCommand({
    ...deleteNamespace,
    args: DeleteNamespace,
    load: async (reader, { name }) => {
      const row = reader.get(namespaces, [name])
      const by: string[] = []
      if (row !== undefined) {
        for (const tenant of tenants) {
          if (await tenant.livesIn(reader, name)) by.push(tenant.what)
        }
      }
      return { row, by }
    },
    apply: (_context, { name }, { row, by }): Applied<DeleteNamespaceOutcome> => {
      const refuse = (outcome: DeleteNamespaceOutcome) => ({ changes: [], outcome })
      if (name === defaultNamespace) return refuse({ type: 'default' })
      if (row === undefined) return refuse({ type: 'unknown' })
      if (by.length > 0) return refuse({ type: 'occupied', by })
      return { changes: [remove(namespaces, [name])], outcome: { type: 'deleted' } }
    },
  })

export const deleteNamespace = proposable<Static<typeof DeleteNamespace>, DeleteNamespaceOutcome>(
  'namespaces.delete',
)

export function namespaceCommands(tenants: readonly NamespaceTenant[]) {
  return commandsByType([putNamespace, deletion(tenants)])
}
