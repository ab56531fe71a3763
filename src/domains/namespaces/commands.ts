/** Changes of namespaces. Whether one may be deleted is decided in its entry, against the state at that very index. */
import { Type } from 'typebox'
import type { AnyCommandDefinition } from '../../fsm/domain.ts'
import { defineCommand, put, remove } from '../define.ts'
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

export function namespaceCommands(
  tenants: readonly NamespaceTenant[],
): Readonly<Record<string, AnyCommandDefinition>> {
  return {
    'namespaces.put': defineCommand({
      args: PutNamespace,
      load: (reader, { name }) => reader.get(namespaces, [name]),
      apply: ({ index }, args, before) => {
        const row: NamespaceRow = {
          name: args.name,
          description: args.description,
          meta: args.meta,
          createIndex: before?.createIndex ?? index,
          modifyIndex: index,
        }
        return { changes: [put(namespaces, row)], outcome: { row } satisfies PutNamespaceOutcome }
      },
    }),
    'namespaces.delete': defineCommand({
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
      apply: (_context, { name }, { row, by }) => {
        const refuse = (outcome: DeleteNamespaceOutcome) => ({ changes: [], outcome })
        if (name === defaultNamespace) return refuse({ type: 'default' })
        if (row === undefined) return refuse({ type: 'unknown' })
        if (by.length > 0) return refuse({ type: 'occupied', by })
        const outcome: DeleteNamespaceOutcome = { type: 'deleted' }
        return { changes: [remove(namespaces, [name])], outcome }
      },
    }),
  }
}
