/** What the methods of every login type begin with: the mount that a route was served below, and the right that a path there asks for. */
import { Type, type Static } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import type { Reader, Table } from '../../fsm/domain.ts'
import type { Listed } from '../../rpc/list.ts'
import type { QueryContext, Requirement } from '../../rpc/method.ts'
import { pageOfNames, type NamesArgs } from '../../rpc/name-list.ts'
import { MountId, MountPath } from './model.ts'

export const At = Type.Object({ id: MountId, path: MountPath })
export type At = Static<typeof At>

/** The right to what is `below` the mount; it may depend on the name that the method is asked about. */
export function belowMount(
  access: 'read' | 'write' | 'delete' | 'list',
  below: (args: { name: string }) => string,
) {
  return ({ at, name = '' }: { at: At; name?: string }): Requirement => ({
    resource: 'auth',
    path: `${at.path}/${below({ name })}`,
    access,
  })
}

/** Names of the rows that a mount has in a table whose keys begin with its id. */
export function namesBelow<Row extends { readonly name: string }>(
  reader: Pick<Reader, 'pages'>,
  table: Table<Row>,
  { at, ...args }: NamesArgs & { readonly at: At },
  context: Pick<QueryContext, 'may' | 'signal'>,
): Promise<Listed<string>> {
  return pageOfNames(context, args, {
    pages: reader.pages(table, { prefix: [at.id] }),
    keyOf: table.key,
    nameOf: ({ name }) => name,
  })
}

/** It was disabled between the request and its entry: answered as if it had been before. */
export function mountIsGone(): MusterError {
  return new MusterError('not_found', '')
}
