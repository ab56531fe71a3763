/** What clients of Vault ask about themselves: which mounts they see. */
import { Type } from 'typebox'
import { defineQuery, type Requirement } from '../../rpc/method.ts'
import { capabilitiesAt } from '../acl/vault-paths.ts'
import { mountPathLengthMax } from './model.ts'
import { allMounts } from './queries.ts'
import { mountRows } from './table.ts'

/** Mounts whose settings the caller may read. */
const visible = defineQuery({
  kind: 'query',
  name: 'logins.visibleMounts',
  args: Type.Object({}),
  requires: () => ({ resource: 'none' }),
  query: async (reader, _args, context) => {
    const value = (await allMounts(reader)).filter(({ path }) =>
      context.may({ resource: 'auth', path: `sys/auth/${path}`, access: 'read' }),
    )
    return { value, index: reader.tableIndex(mountRows) }
  },
})

/** The mount that a path lies below, for callers who may do anything there. */
const over = defineQuery({
  kind: 'query',
  name: 'logins.mountOver',
  args: Type.Object({ path: Type.String({ maxLength: 8 * mountPathLengthMax }) }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { path }, context) => {
    const below = path.startsWith('auth/') ? `${path.slice('auth/'.length)}/` : ''
    const mount = (await allMounts(reader)).find((known) => below.startsWith(`${known.path}/`))
    const may = (requirement: Requirement) => context.may(requirement)
    const mayAsk = capabilitiesAt(may, path)[0] !== 'deny'
    const value = mount !== undefined && mayAsk ? mount : null
    return { value, index: reader.tableIndex(mountRows) }
  },
})

export const uiMethods = { visible, over }
