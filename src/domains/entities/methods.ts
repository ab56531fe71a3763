/** What may be asked about entities. */
import { Type } from 'typebox'
import { Page } from '../../rpc/list.ts'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import { pageOfNames } from '../../rpc/name-list.ts'
import { deleteEntity } from './commands.ts'
import { EntityId, type AliasRow, type EntityRow } from './model.ts'
import { aliasesOf, entityOf } from './queries.ts'
import { entities } from './table.ts'

const list = defineQuery({
  kind: 'query',
  name: 'entities.list',
  long: true,
  args: Type.Object(Page),
  requires: () => ({ resource: 'acl', access: 'list' }),
  query: async (reader, args, context) => {
    const value = await pageOfNames(context, args, {
      pages: reader.pages(entities, { startsWith: args.prefix }),
      keyOf: entities.key,
      nameOf: ({ id }) => id,
    })
    return { value, index: Math.max(1, reader.tableIndex(entities)) }
  },
})

export type ShownEntity = { readonly row: EntityRow; readonly aliases: readonly AliasRow[] }

const read = defineQuery({
  kind: 'query',
  name: 'entities.read',
  args: Type.Object({ id: EntityId }),
  requires: () => ({ resource: 'acl', access: 'read' }),
  query: async (reader, { id }) => {
    const row = entityOf(reader, id)
    const value: ShownEntity | null =
      row === null ? null : { row, aliases: await aliasesOf(reader, id) }
    return { value, index: Math.max(1, reader.tableIndex(entities)) }
  },
})

const remove = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'entities.delete',
  args: Type.Object({ id: EntityId }),
  requires: () => ({ resource: 'acl', access: 'write' }),
  run: async (context, { id }): Promise<null> => {
    await context.propose(deleteEntity, { id })
    return null
  },
})

export const entityMethods = { list, read, remove }
