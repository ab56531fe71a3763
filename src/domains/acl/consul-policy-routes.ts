/** Policies and roles in Consul's dialect, over the same methods: with ids, and with PUT to make them. */
import { Type } from 'typebox'
import { listHeaders, listReply, pageOf } from '../../api/pages.ts'
import type { ApiReply, ApiRequest, DescribedRoute } from '../../api/route.ts'
import { blocking, listing, ok, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import {
  bodyBytesMax,
  dialect,
  linksOf,
  nameOf,
  notFound,
  refuseIdentities,
} from './consul-routes.ts'
import {
  managementInConsul,
  managementPolicy,
  policyInConsul,
  roleInConsul,
  type Named,
} from './consul-shown.ts'
import { AclName } from './model.ts'
import { policyMethods } from './policy-methods.ts'
import { policyBodyBytesMax } from './policy-routes.ts'
import { bodyOf } from './routes.ts'
import {
  ConsulPolicy,
  ConsulPolicyBody,
  ConsulPolicyStub,
  ConsulRole,
  ConsulRoleBody,
} from './shapes.ts'
import { shownPolicy, shownRole } from './shown.ts'

const putPolicy = async (request: ApiRequest, isNew: boolean): Promise<ApiReply> => {
  const fields = bodyOf(request)
  const id = isNew ? null : request.parameter('id')
  const known = id === null ? null : await nameOf(request, 'policy', id)
  if (id !== null && known === null) return notFound
  const name = fields.text('Name') ?? ''
  refuseOtherName('policy', name, known)
  if ((fields.list('Datacenters') ?? []).length > 0) {
    throw new MusterError(
      'invalid_argument',
      'a policy holds in every datacenter: leave Datacenters out',
    )
  }
  if (name === managementPolicy) {
    throw new MusterError(
      'invalid_argument',
      `${managementPolicy} is built in and cannot be changed`,
    )
  }
  const row = await request.call(policyMethods.putPolicy, {
    name,
    description: fields.text('Description') ?? '',
    rules: fields.text('Rules') ?? '',
    isNew,
  })
  return { json: policyInConsul(shownPolicy(row)), index: row.modifyIndex }
}

const putRole = async (request: ApiRequest, isNew: boolean): Promise<ApiReply> => {
  const fields = bodyOf(request)
  refuseIdentities(fields)
  const id = isNew ? null : request.parameter('id')
  const known = id === null ? null : await nameOf(request, 'role', id)
  if (id !== null && known === null) return notFound
  const name = fields.text('Name') ?? ''
  refuseOtherName('role', name, known)
  const row = await request.call(policyMethods.putRole, {
    name,
    description: fields.text('Description') ?? '',
    policies: await linksOf(request, fields, 'policy'),
    isNew,
  })
  return { json: roleInConsul(shownRole(row)), index: row.modifyIndex }
}

const readPolicy = async (request: ApiRequest, name: string | null): Promise<ApiReply> => {
  if (name === null) return notFound
  const { value } = await request.query(policyMethods.readPolicy, { name })
  if (name === managementPolicy) return { json: managementInConsul }
  return value === null ? notFound : { json: policyInConsul(value) }
}

const readRole = async (request: ApiRequest, name: string | null): Promise<ApiReply> => {
  if (name === null) return notFound
  const { value } = await request.query(policyMethods.readRole, { name })
  return value === null ? notFound : { json: roleInConsul(value) }
}

const byId = (what: Named) => (request: ApiRequest) =>
  nameOf(request, what, request.parameter('id'))
const remove =
  (what: Named) =>
  async (request: ApiRequest): Promise<ApiReply> => {
    const name = await byId(what)(request)
    if (name === null) return { json: true }
    const method = what === 'policy' ? policyMethods.deletePolicy : policyMethods.deleteRole
    const { index } = await request.call(method, { name })
    return { json: true, index }
  }

const named = { name: AclName }
const withId = { id: text('Its UUID') }

export const policyConsulRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/acl/policies',
    summary: 'List policies',
    permission: 'acl:read',
    query: { ...blocking, ...listing },
    reply: ok(Type.Array(ConsulPolicyStub)),
    example: {},
    dialect,
    handle: async (request) => {
      const { value } = await request.query(policyMethods.listPolicies, pageOf(request))
      const { Rules: _, ...management } = managementInConsul
      const first =
        value.nextToken === null && !request.search.has('next_token') ? [management] : []
      return { json: [...first, ...value.rows.map(policyInConsul)], ...listHeaders(value) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/acl/policy',
    summary: 'Create a policy',
    permission: 'acl:write',
    bodySchema: ConsulPolicyBody,
    reply: ok(ConsulPolicy),
    errors: ['not_found'],
    example: {
      body: { Name: 'web', Rules: 'key_prefix "web/" { policy = "read" }' },
      keeps: { policy: 'ID' },
    },
    dialect,
    bodyBytesMax: policyBodyBytesMax,
    atLeast: [{ resource: 'acl', access: 'write' }],
    handle: (request) => putPolicy(request, true),
  },
  {
    method: 'GET',
    path: '/v1/acl/policy/name/:name',
    summary: 'Read a policy by its name',
    permission: 'acl:read',
    params: named,
    query: blocking,
    reply: ok(ConsulPolicy),
    errors: ['not_found'],
    example: { url: '/v1/acl/policy/name/web' },
    dialect,
    handle: (request) => readPolicy(request, request.parameter('name')),
  },
  {
    method: 'GET',
    path: '/v1/acl/policy/:id',
    summary: 'Read a policy',
    permission: 'acl:read',
    params: withId,
    query: blocking,
    reply: ok(ConsulPolicy),
    errors: ['not_found'],
    example: { url: '/v1/acl/policy/{policy}' },
    dialect,
    handle: async (request) => readPolicy(request, await byId('policy')(request)),
  },
  {
    method: 'PUT',
    path: '/v1/acl/policy/:id',
    summary: 'Change a policy',
    permission: 'acl:read',
    params: withId,
    bodySchema: ConsulPolicyBody,
    reply: ok(ConsulPolicy),
    errors: ['not_found'],
    example: {
      url: '/v1/acl/policy/{policy}',
      body: { Name: 'web', Rules: 'key_prefix "web/" { policy = "write" }' },
    },
    dialect,
    bodyBytesMax: policyBodyBytesMax,
    atLeast: [{ resource: 'acl', access: 'write' }],
    handle: (request) => putPolicy(request, false),
  },
  {
    method: 'DELETE',
    path: '/v1/acl/policy/:id',
    summary: 'Delete a policy',
    permission: 'acl:read',
    params: withId,
    reply: ok(Type.Literal(true)),
    errors: ['not_found'],
    example: { url: '/v1/acl/policy/{policy}' },
    dialect,
    handle: remove('policy'),
  },
  {
    method: 'GET',
    path: '/v1/acl/roles',
    summary: 'List roles',
    permission: 'acl:read',
    query: { ...blocking, ...listing },
    reply: ok(Type.Array(ConsulRole)),
    example: {},
    dialect,
    handle: async (request) => {
      const { value } = await request.query(policyMethods.listRoles, pageOf(request))
      return listReply(value, roleInConsul)
    },
  },
  {
    method: 'PUT',
    path: '/v1/acl/role',
    summary: 'Create a role',
    permission: 'acl:write',
    bodySchema: ConsulRoleBody,
    reply: ok(ConsulRole),
    errors: ['not_found'],
    example: { body: { Name: 'frontend', Policies: [{ Name: 'app' }] }, keeps: { role: 'ID' } },
    dialect,
    bodyBytesMax,
    handle: (request) => putRole(request, true),
  },
  {
    method: 'GET',
    path: '/v1/acl/role/name/:name',
    summary: 'Read a role by its name',
    permission: 'acl:read',
    params: named,
    query: blocking,
    reply: ok(ConsulRole),
    errors: ['not_found'],
    example: { url: '/v1/acl/role/name/frontend' },
    dialect,
    handle: (request) => readRole(request, request.parameter('name')),
  },
  {
    method: 'GET',
    path: '/v1/acl/role/:id',
    summary: 'Read a role',
    permission: 'acl:read',
    params: withId,
    query: blocking,
    reply: ok(ConsulRole),
    errors: ['not_found'],
    example: { url: '/v1/acl/role/{role}' },
    dialect,
    handle: async (request) => readRole(request, await byId('role')(request)),
  },
  {
    method: 'PUT',
    path: '/v1/acl/role/:id',
    summary: 'Change a role',
    permission: 'acl:read',
    params: withId,
    bodySchema: ConsulRoleBody,
    reply: ok(ConsulRole),
    errors: ['not_found'],
    example: {
      url: '/v1/acl/role/{role}',
      body: { Name: 'frontend', Policies: [{ Name: 'app' }] },
    },
    dialect,
    bodyBytesMax,
    handle: (request) => putRole(request, false),
  },
  {
    method: 'DELETE',
    path: '/v1/acl/role/:id',
    summary: 'Delete a role',
    permission: 'acl:read',
    params: withId,
    reply: ok(Type.Literal(true)),
    errors: ['not_found'],
    example: { url: '/v1/acl/role/{role}' },
    dialect,
    handle: remove('role'),
  },
]

function refuseOtherName(what: Named, written: string, known: string | null): void {
  if (known === null || written === known) return
  throw new MusterError(
    'invalid_argument',
    `a ${what} keeps its name, ${JSON.stringify(known)}: make another one`,
  )
}
