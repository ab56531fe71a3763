/** Local groups and users of a directory mount, which give policies to those who log in. Both are read and written alike. */
import { CoercedFields } from '../../api/coerced-fields.ts'
import {
  dataReply,
  envelope,
  keysEnvelope,
  keysReply,
  nothingThere,
  writtenReply,
} from '../../api/envelope.ts'
import { pageOf } from '../../api/pages.ts'
import { smallBodyBytesMax, type ApiRequest } from '../../api/route.ts'
import { consistency, listing, text } from '../../api/shape.ts'
import type { MountedAt, MountedRoute } from '../logins/mounted-routes.ts'
import { ldapMethods } from './methods.ts'
import { checkName } from './names.ts'
import { GroupBody, ShownGroup, ShownUser, UserBody } from './shapes.ts'

/** The name below a mount, slashes included. Throws `invalid_argument`. */
export function named({ mount: { id, path }, tail }: MountedAt) {
  checkName('the name', tail)
  return { at: { id, path }, name: tail }
}
type Named = ReturnType<typeof named>

type Mapping = {
  readonly noun: 'group' | 'user'
  /** What one gives, for summaries. */
  readonly gives: string
  readonly body: typeof GroupBody | typeof UserBody
  readonly shown: typeof ShownGroup | typeof ShownUser
  readonly example: { readonly name: string; readonly body: Readonly<Record<string, string>> }
  readonly list: typeof ldapMethods.listGroups | typeof ldapMethods.listUsers
  readonly remove: typeof ldapMethods.removeGroup | typeof ldapMethods.removeUser
  /** As it is shown; null: there is none. */
  read(request: ApiRequest, of: Named): Promise<Readonly<Record<string, unknown>> | null>
  write(request: ApiRequest, of: Named, fields: CoercedFields): Promise<null>
}

const groups: Mapping = {
  noun: 'group',
  gives: 'policies',
  body: GroupBody,
  shown: ShownGroup,
  example: { name: 'engineers', body: { policies: 'ops,dev' } },
  list: ldapMethods.listGroups,
  remove: ldapMethods.removeGroup,
  read: async (request, of) => {
    const { value } = await request.query(ldapMethods.readGroup, of)
    return value === null ? null : { policies: value.policies }
  },
  write: (request, of, fields) =>
    request.call(ldapMethods.writeGroup, { ...of, policies: fields.list('policies') ?? [] }),
}

const users: Mapping = {
  noun: 'user',
  gives: 'policies and groups',
  body: UserBody,
  shown: ShownUser,
  example: { name: 'ada', body: { groups: 'engineers' } },
  list: ldapMethods.listUsers,
  remove: ldapMethods.removeUser,
  read: async (request, of) => {
    const { value } = await request.query(ldapMethods.readUser, of)
    return value === null ? null : { policies: value.policies, groups: value.groups.join(',') }
  },
  write: (request, of, fields) =>
    request.call(ldapMethods.writeUser, {
      ...of,
      policies: fields.list('policies') ?? [],
      groups: fields.list('groups') ?? [],
    }),
}

export const mappingRoutes: readonly MountedRoute[] = [...routesOf(groups), ...routesOf(users)]

function routesOf(mapping: Mapping): readonly MountedRoute[] {
  const { noun, gives, example } = mapping
  const params = { '*': text(`Name of the ${noun}, slashes included`) }
  const url = `/v1/auth/ldap/${noun}s/${example.name}`
  return [
    {
      method: 'LIST',
      path: `${noun}s`,
      summary: `List local ${noun}s of a directory login method`,
      permission: 'auth:list',
      query: { ...consistency, ...listing },
      reply: keysReply,
      errors: ['not_found'],
      example: {},
      handle: async (request, { mount: { id, path } }) => {
        const { value } = await request.query(mapping.list, {
          ...pageOf(request),
          at: { id, path },
        })
        return keysEnvelope(request, value)
      },
    },
    {
      method: 'GET',
      path: `${noun}s/*`,
      summary: `Read the ${gives} of a ${noun}`,
      permission: 'auth:read',
      params,
      query: consistency,
      reply: dataReply(mapping.shown),
      errors: ['not_found'],
      example: { url },
      handle: async (request, at) => {
        const data = await mapping.read(request, named(at))
        if (data === null) throw nothingThere()
        return envelope(request, { data })
      },
    },
    {
      method: 'POST',
      path: `${noun}s/*`,
      summary: `Give ${gives} to a ${noun}`,
      permission: 'auth:write',
      params,
      bodySchema: mapping.body,
      bodyBytesMax: smallBodyBytesMax,
      reply: writtenReply,
      errors: ['not_found'],
      example: { url, body: example.body, status: 204 },
      handle: async (request, at) => {
        await mapping.write(request, named(at), new CoercedFields(request.json))
        return envelope(request, {})
      },
    },
    {
      method: 'DELETE',
      path: `${noun}s/*`,
      summary: `Delete a ${noun} with its policies`,
      permission: 'auth:delete',
      params,
      reply: writtenReply,
      example: { url, status: 204 },
      handle: async (request, at) => {
        await request.call(mapping.remove, named(at))
        return envelope(request, {})
      },
    },
  ]
}
