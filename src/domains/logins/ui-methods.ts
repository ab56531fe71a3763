/** What clients of the secrets service ask about themselves: which mounts they see, and what they may do at a path. */
import { Type } from 'typebox'
import { defineQuery, type QueryContext, type Requirement } from '../../rpc/method.ts'
import { mountPathLengthMax } from './model.ts'
import { allMounts } from './queries.ts'
import { mountRows } from './table.ts'

export const pathsMax = 256
const pathLengthMax = 1_024

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
    const mayAsk = capabilitiesAt(context, path)[0] !== 'deny'
    const value = mount !== undefined && mayAsk ? mount : null
    return { value, index: reader.tableIndex(mountRows) }
  },
})

const capabilities = defineQuery({
  kind: 'query',
  name: 'logins.capabilities',
  args: Type.Object({
    paths: Type.Immutable(
      Type.Array(Type.String({ maxLength: pathLengthMax }), { maxItems: pathsMax }),
    ),
  }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { paths }, context) => ({
    value: paths.map((path) => [path, capabilitiesAt(context, path)] as const),
    index: reader.appliedIndex,
  }),
})

export const uiMethods = { visible, over, capabilities }

/** In the words of the secrets service, of what is below `auth` and `sys`. */
function capabilitiesAt(context: QueryContext, path: string): readonly string[] {
  if (context.may({ resource: 'acl', access: 'write' })) return ['root']
  const name = nameOf(path.replaceAll(/^\/+/g, ''))
  if (name === null) return ['deny']
  const may = (access: 'read' | 'write' | 'list') => context.may(requirementOf(name, access))
  const words = [
    ...(may('write') ? ['create', 'delete'] : []),
    ...(may('list') ? ['list'] : []),
    ...(may('read') ? ['read'] : []),
    ...(may('write') ? ['update'] : []),
  ]
  return words.length === 0 ? ['deny'] : words
}

function nameOf(path: string): string | null {
  if (path.startsWith('auth/')) return path.slice('auth/'.length)
  return path.startsWith('sys/') ? path : null
}

function requirementOf(name: string, access: 'read' | 'write' | 'list'): Requirement {
  if (/^sys\/polic(y|ies\/acl)(\/|$)/.test(name)) return { resource: 'acl', access }
  return { resource: 'auth', path: name, access }
}
