/** Local users and groups of a directory mount, and the login itself. */
import type { ApiRequest } from '../../api/route.ts'
import { smallBodyBytesMax } from '../../api/route.ts'
import { CoercedFields } from '../../api/coerced-fields.ts'
import {
  authReply,
  dataReply,
  envelope,
  keysEnvelope,
  keysReply,
  nothingThere,
  writtenReply,
} from '../../api/envelope.ts'
import { consistency, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import type { MountedAt, MountedRoute } from '../logins/mounted-routes.ts'
import { configRoutes } from './config-routes.ts'
import { ldapLoginMethods, loginMsMax, passwordLengthMax } from './login-methods.ts'
import { ldapMethods } from './methods.ts'
import { checkName } from './names.ts'
import { GroupBody, LoginBody, ShownGroup, ShownUser, UserBody } from './shapes.ts'

const ofGroup = { '*': text('Name of the group, slashes included') }
const ofUser = { '*': text('Name of the user, slashes included') }

/** What `issueLogin` may take beside the directory. */
const issueMsMax = 30_000

function named({ mount: { id, path }, tail }: MountedAt) {
  checkName('the name', tail)
  return { at: { id, path }, name: tail }
}

export const ldapRoutes: readonly MountedRoute[] = [
  ...configRoutes,
  {
    method: 'LIST',
    path: 'groups',
    summary: 'List local groups of a directory login method',
    permission: 'auth:list',
    query: consistency,
    reply: keysReply,
    errors: ['not_found'],
    example: {},
    handle: async (request, { mount: { id, path } }) => {
      const { value } = await request.query(ldapMethods.listGroups, { at: { id, path } })
      return keysEnvelope(request, value)
    },
  },
  {
    method: 'GET',
    path: 'groups/*',
    summary: 'Read the policies of a group',
    permission: 'auth:read',
    params: ofGroup,
    query: consistency,
    reply: dataReply(ShownGroup),
    errors: ['not_found'],
    example: { url: '/v1/auth/ldap/groups/engineers' },
    handle: async (request, at) => {
      const { value } = await request.query(ldapMethods.readGroup, named(at))
      if (value === null) throw nothingThere()
      return envelope(request, { data: { policies: value.policies } })
    },
  },
  {
    method: 'POST',
    path: 'groups/*',
    summary: 'Give policies to a group',
    permission: 'auth:write',
    params: ofGroup,
    bodySchema: GroupBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: writtenReply,
    errors: ['not_found'],
    example: { url: '/v1/auth/ldap/groups/engineers', body: { policies: 'ops,dev' }, status: 204 },
    handle: async (request, at) => {
      const policies = listOf(request, 'policies')
      await request.call(ldapMethods.writeGroup, { ...named(at), policies })
      return envelope(request, {})
    },
  },
  {
    method: 'DELETE',
    path: 'groups/*',
    summary: 'Delete a group with its policies',
    permission: 'auth:write',
    params: ofGroup,
    reply: writtenReply,
    example: { url: '/v1/auth/ldap/groups/engineers', status: 204 },
    handle: async (request, at) => {
      await request.call(ldapMethods.removeGroup, named(at))
      return envelope(request, {})
    },
  },
  {
    method: 'LIST',
    path: 'users',
    summary: 'List local users of a directory login method',
    permission: 'auth:list',
    query: consistency,
    reply: keysReply,
    errors: ['not_found'],
    example: {},
    handle: async (request, { mount: { id, path } }) => {
      const { value } = await request.query(ldapMethods.listUsers, { at: { id, path } })
      return keysEnvelope(request, value)
    },
  },
  {
    method: 'GET',
    path: 'users/*',
    summary: 'Read the policies and groups of a user',
    permission: 'auth:read',
    params: ofUser,
    query: consistency,
    reply: dataReply(ShownUser),
    errors: ['not_found'],
    example: { url: '/v1/auth/ldap/users/ada' },
    handle: async (request, at) => {
      const { value } = await request.query(ldapMethods.readUser, named(at))
      if (value === null) throw nothingThere()
      const { policies, groups } = value
      return envelope(request, { data: { policies, groups: groups.join(',') } })
    },
  },
  {
    method: 'POST',
    path: 'users/*',
    summary: 'Give policies and groups to a user',
    permission: 'auth:write',
    params: ofUser,
    bodySchema: UserBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: writtenReply,
    errors: ['not_found'],
    example: { url: '/v1/auth/ldap/users/ada', body: { groups: 'engineers' }, status: 204 },
    handle: async (request, at) => {
      const policies = listOf(request, 'policies')
      const groups = listOf(request, 'groups')
      await request.call(ldapMethods.writeUser, { ...named(at), policies, groups })
      return envelope(request, {})
    },
  },
  {
    method: 'DELETE',
    path: 'users/*',
    summary: 'Delete a user with its policies',
    permission: 'auth:write',
    params: ofUser,
    reply: writtenReply,
    example: { url: '/v1/auth/ldap/users/ada', status: 204 },
    handle: async (request, at) => {
      await request.call(ldapMethods.removeUser, named(at))
      return envelope(request, {})
    },
  },
  {
    method: 'POST',
    path: 'login/*',
    summary: 'Log in with a name and password of a directory',
    permission: 'none',
    params: { '*': text('Name of the user, slashes included') },
    bodySchema: LoginBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: authReply,
    example: { url: '/v1/auth/ldap/login/ada', body: { password: 'secret' }, status: 400 },
    handle: async (request, at) => {
      const { at: mount, name } = named(at)
      const password = new CoercedFields(request.json).string('password') ?? ''
      if (password.length > passwordLengthMax) {
        throw new MusterError('invalid_argument', 'the password is too long')
      }
      const issued = await request.call(
        ldapLoginMethods.login,
        { at: mount, username: name, password },
        { timeoutMs: loginMsMax + issueMsMax },
      )
      return envelope(request, issued)
    },
  },
]

function listOf(request: ApiRequest, name: string): readonly string[] {
  return new CoercedFields(request.json).list(name) ?? []
}
