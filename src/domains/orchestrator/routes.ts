/** The orchestrator method below a mount: configuration, roles, login. */
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
import { pageOf } from '../../api/pages.ts'
import { smallBodyBytesMax, type ApiReply } from '../../api/route.ts'
import { consistency, listing, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import type { MountedAt, MountedRoute } from '../logins/mounted-routes.ts'
import { orchestratorLoginMethods } from './login-methods.ts'
import { orchestratorMethods } from './methods.ts'
import { roleKey } from './model.ts'
import { roleChangeOf } from './role-fields-routes.ts'
import { ConfigBody, LoginBody, RoleBody, ShownConfig, ShownRole } from './shapes.ts'
import { shownConfig, shownRole } from './shown.ts'

/** Of a configuration: two PEM texts whose every newline is escaped, and room for the rest. */
const configBodyBytesMax = 262_144
const none: ApiReply = { status: 204 }
const ofRole = { name: text('Name of the role; letter case does not count') }

/** Throws 404 for what is no name of a role. */
function roleName(at: MountedAt): string {
  const key = roleKey(at.parameter('name'))
  if (key === null) throw nothingThere()
  return key
}

function placeOf({ mount: { id, path } }: MountedAt) {
  return { id, path }
}

export const orchestratorRoutes: readonly MountedRoute[] = [
  {
    method: 'POST',
    path: 'config',
    summary: 'Configure orchestrator logins',
    permission: 'auth:write',
    bodySchema: ConfigBody,
    bodyBytesMax: configBodyBytesMax,
    atLeast: [{ resource: 'auth', access: 'write' }],
    reply: writtenReply,
    example: {
      body: {
        orchestrator_host: 'https://10.0.0.1:6443',
        pem_keys: [
          '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA8wgXTUKP7Rz8jvmFt9aqWLCOEd6hGF2nuAI9fU4OIZk=\n-----END PUBLIC KEY-----',
        ],
      },
      status: 204,
    },
    handle: async (request, at) => {
      const fields = new CoercedFields(request.json)
      const host = fields.string('orchestrator_host') ?? fields.string('kubernetes_host') ?? ''
      const authorities =
        fields.string('orchestrator_ca_cert') ?? fields.string('kubernetes_ca_cert') ?? ''
      await request.call(orchestratorMethods.writeConfig, {
        at: placeOf(at),
        config: {
          host,
          authorities,
          pemKeys: fields.list('pem_keys') ?? [],
          disableLocalCaJwt: fields.boolean('disable_local_ca_jwt') ?? false,
          disableIssValidation: fields.boolean('disable_iss_validation') ?? true,
          issuer: fields.string('issuer') ?? '',
        },
        reviewer: fields.string('token_reviewer_jwt')?.trim() ?? '',
      })
      return none
    },
  },
  {
    method: 'GET',
    path: 'config',
    summary: 'Read the configuration of orchestrator logins',
    permission: 'auth:read',
    query: consistency,
    reply: dataReply(ShownConfig),
    errors: ['not_found'],
    example: {},
    handle: async (request, at) => {
      const { value } = await request.query(orchestratorMethods.readConfig, { at: placeOf(at) })
      if (value === null) throw nothingThere()
      return envelope(request, { data: shownConfig(value) })
    },
  },
  {
    method: 'LIST',
    path: 'role',
    summary: 'List roles of orchestrator logins',
    permission: 'auth:list',
    query: { ...consistency, ...listing },
    reply: keysReply,
    errors: ['not_found'],
    example: {},
    handle: async (request, at) => {
      const args = { ...pageOf(request), at: placeOf(at) }
      const { value } = await request.query(orchestratorMethods.listRoles, args)
      return keysEnvelope(request, value)
    },
  },
  {
    method: 'POST',
    path: 'role/:name',
    summary: 'Write a role of orchestrator logins',
    permission: 'auth:write',
    params: ofRole,
    bodySchema: RoleBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: writtenReply,
    errors: ['not_found'],
    example: {
      url: '/v1/auth/orchestrator/role/till',
      body: {
        bound_service_account_names: ['till'],
        bound_service_account_namespaces: ['shop', 'shop-*'],
        audience: 'muster',
        token_policies: ['till'],
        token_ttl: '1h',
      },
      status: 204,
    },
    handle: async (request, at) => {
      const name = roleName(at)
      const change = roleChangeOf(new CoercedFields(request.json))
      const { warnings } = await request.call(orchestratorMethods.writeRole, {
        at: placeOf(at),
        name,
        change,
      })
      return envelope(request, { warnings })
    },
  },
  {
    method: 'GET',
    path: 'role/:name',
    summary: 'Read a role of orchestrator logins',
    permission: 'auth:read',
    params: ofRole,
    query: consistency,
    reply: dataReply(ShownRole),
    errors: ['not_found'],
    example: { url: '/v1/auth/orchestrator/role/till' },
    handle: async (request, at) => {
      const args = { at: placeOf(at), name: roleName(at) }
      const { value } = await request.query(orchestratorMethods.readRole, args)
      if (value === null) throw nothingThere()
      return envelope(request, { data: shownRole(value.role) })
    },
  },
  {
    method: 'DELETE',
    path: 'role/:name',
    summary: 'Delete a role of orchestrator logins',
    permission: 'auth:delete',
    params: ofRole,
    reply: { 204: {} },
    errors: ['not_found'],
    example: { url: '/v1/auth/orchestrator/role/till', status: 204 },
    handle: async (request, at) => {
      const args = { at: placeOf(at), name: roleName(at) }
      await request.call(orchestratorMethods.removeRole, args)
      return none
    },
  },
  {
    method: 'POST',
    path: 'login',
    summary: 'Log in by the token of a service account',
    permission: 'none',
    bodySchema: LoginBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: authReply,
    example: {
      body: { role: 'till', jwt: 'eyJhbGciOi…' },
      status: 403,
    },
    handle: async (request, at) => {
      const fields = new CoercedFields(request.json)
      const role = fields.string('role') ?? ''
      const jwt = fields.string('jwt') ?? ''
      if (role === '') throw new MusterError('invalid_argument', 'missing role')
      if (jwt === '') throw new MusterError('invalid_argument', 'missing jwt')
      const issued = await request.call(orchestratorLoginMethods.login, {
        at: placeOf(at),
        role,
        jwt,
      })
      return envelope(request, issued)
    },
  },
]
