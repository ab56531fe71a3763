/** Policies and roles in Consul's dialect, over the same methods: with ids, and with PUT to make them. */
import { listHeaders, listReply, pageOf } from '../../api/pages.ts'
import type { ApiReply, ApiRequest, Route } from '../../api/route.ts'
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
import { policyMethods } from './policy-methods.ts'
import { policyBodyBytesMax } from './policy-routes.ts'
import { bodyOf } from './routes.ts'
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

export const policyConsulRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/acl/policies',
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
    dialect,
    bodyBytesMax: policyBodyBytesMax,
    atLeast: [{ resource: 'acl', access: 'write' }],
    handle: (request) => putPolicy(request, true),
  },
  {
    method: 'GET',
    path: '/v1/acl/policy/name/:name',
    dialect,
    handle: (request) => readPolicy(request, request.parameter('name')),
  },
  {
    method: 'GET',
    path: '/v1/acl/policy/:id',
    dialect,
    handle: async (request) => readPolicy(request, await byId('policy')(request)),
  },
  {
    method: 'PUT',
    path: '/v1/acl/policy/:id',
    dialect,
    bodyBytesMax: policyBodyBytesMax,
    atLeast: [{ resource: 'acl', access: 'write' }],
    handle: (request) => putPolicy(request, false),
  },
  {
    method: 'DELETE',
    path: '/v1/acl/policy/:id',
    dialect,
    handle: remove('policy'),
  },
  {
    method: 'GET',
    path: '/v1/acl/roles',
    dialect,
    handle: async (request) => {
      const { value } = await request.query(policyMethods.listRoles, pageOf(request))
      return listReply(value, roleInConsul)
    },
  },
  {
    method: 'PUT',
    path: '/v1/acl/role',
    dialect,
    bodyBytesMax,
    handle: (request) => putRole(request, true),
  },
  {
    method: 'GET',
    path: '/v1/acl/role/name/:name',
    dialect,
    handle: (request) => readRole(request, request.parameter('name')),
  },
  {
    method: 'GET',
    path: '/v1/acl/role/:id',
    dialect,
    handle: async (request) => readRole(request, await byId('role')(request)),
  },
  {
    method: 'PUT',
    path: '/v1/acl/role/:id',
    dialect,
    bodyBytesMax,
    handle: (request) => putRole(request, false),
  },
  {
    method: 'DELETE',
    path: '/v1/acl/role/:id',
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
