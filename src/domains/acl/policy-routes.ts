/** `/v1/acl/policies`, `/v1/acl/policy/:name`, `/v1/acl/policy/self`, `/v1/acl/roles` and `/v1/acl/role/:name`. */
import { Type } from 'typebox'
import type { Fields } from '../../api/fields.ts'
import { listReply, pageOf } from '../../api/pages.ts'
import {
  type ApiReply,
  type ApiRequest,
  type DescribedRoute,
  smallBodyBytesMax,
} from '../../api/route.ts'
import { blocking, listing, ok } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { aclMethods } from './methods.ts'
import { AclName } from './model.ts'
import { policyMethods } from './policy-methods.ts'
import { policyBytesMax } from './policy-source-model.ts'
import { bodyOf, namesOf } from './routes.ts'
import { NewRoleBody, Policy, PolicyBody, PolicyStub, Role, RoleBody } from './shapes.ts'
import { shownPolicy, shownRole } from './shown.ts'

/** Every letter of a policy may be escaped. */
export const policyBodyBytesMax = 6 * policyBytesMax + 16 * 1024

const putPolicy = async (request: ApiRequest): Promise<ApiReply> => {
  const fields = bodyOf(request)
  const rules = fields.text('Rules')
  if (rules === undefined) throw new MusterError('invalid_argument', 'Rules is missing')
  refuseJobAcl(fields)
  const row = await request.call(policyMethods.putPolicy, {
    name: nameOf(request, fields.text('Name') ?? ''),
    description: fields.text('Description') ?? '',
    rules,
  })
  return { json: shownPolicy(row), index: row.modifyIndex }
}

/** Nomad's clients send it as null, or without any text in it, where the policy is of no job. */
function refuseJobAcl(fields: Fields): void {
  const job = fields.object('JobACL')
  if (job === undefined || job.names().every((name) => !job.raw(name))) return
  throw new MusterError(
    'invalid_argument',
    'JobACL is not served: tasks get no tokens, so no policy is bound to a job; leave it out and name the policy in tokens or roles',
  )
}

const putRole = async (request: ApiRequest, isNew: boolean): Promise<ApiReply> => {
  const fields = bodyOf(request)
  const name = fields.text('Name') ?? ''
  const row = await request.call(policyMethods.putRole, {
    name: isNew ? name : nameOf(request, name),
    description: fields.text('Description') ?? '',
    policies: namesOf(fields, 'Policies') ?? [],
    isNew,
  })
  return { json: shownRole(row), index: row.modifyIndex }
}

const readRole = async (request: ApiRequest): Promise<ApiReply> => {
  const name = request.parameter('name')
  const { value } = await request.query(policyMethods.readRole, { name })
  return value === null ? { status: 404, text: 'ACL role not found' } : { json: value }
}

const named = { name: AclName }

export const policyRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/acl/policies',
    summary: 'List policies: all with `acl:read`, else those of the token',
    permission: 'filtered',
    query: { ...blocking, ...listing },
    reply: ok(Type.Array(PolicyStub)),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(policyMethods.listPolicies, {
        ...pageOf(request),
        orOwn: true,
      })
      return listReply(value)
    },
  },
  {
    method: 'GET',
    path: '/v1/acl/policy/self',
    summary: 'List the policies that the rights of the caller are made of',
    permission: 'any token',
    query: blocking,
    reply: ok(Type.Array(PolicyStub)),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(aclMethods.ownPolicies, {})
      return { json: value }
    },
  },
  {
    method: 'GET',
    path: '/v1/acl/policy/:name',
    summary: 'Read a policy: one of the token itself needs no right',
    permission: 'acl:read',
    params: named,
    query: blocking,
    reply: ok(Policy),
    errors: ['not_found'],
    example: { url: '/v1/acl/policy/app' },
    handle: async (request) => {
      const name = request.parameter('name')
      const { value } = await request.query(policyMethods.readPolicy, { name, orOwn: true })
      return value === null ? { status: 404, text: 'ACL policy not found' } : { json: value }
    },
  },
  {
    method: 'PUT',
    path: '/v1/acl/policy/:name',
    summary: 'Create or change a policy',
    permission: 'acl:write',
    params: named,
    bodySchema: PolicyBody,
    reply: ok(Policy),
    example: {
      url: '/v1/acl/policy/app',
      body: {
        Description: 'Reads the settings of the shop',
        Rules: 'key_prefix "app/" { policy = "read" }',
      },
    },
    bodyBytesMax: policyBodyBytesMax,
    atLeast: [{ resource: 'acl', access: 'write' }],
    handle: putPolicy,
  },
  {
    method: 'DELETE',
    path: '/v1/acl/policy/:name',
    summary: 'Delete a policy',
    permission: 'acl:write',
    params: named,
    reply: ok(Type.Literal(true)),
    errors: ['not_found'],
    example: { url: '/v1/acl/policy/app' },
    handle: async (request) => {
      const name = request.parameter('name')
      const { index } = await request.call(policyMethods.deletePolicy, { name })
      return { json: true, index }
    },
  },
  {
    method: 'GET',
    path: '/v1/acl/roles',
    summary: 'List roles',
    permission: 'acl:read',
    query: { ...blocking, ...listing },
    reply: ok(Type.Array(Role)),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(policyMethods.listRoles, pageOf(request))
      return listReply(value)
    },
  },
  {
    method: 'GET',
    path: '/v1/acl/role/:name',
    summary: 'Read a role',
    permission: 'acl:read',
    params: named,
    query: blocking,
    reply: ok(Role),
    errors: ['not_found'],
    example: { url: '/v1/acl/role/shop' },
    handle: readRole,
  },
  // As Nomad's tools ask, whose roles have ids beside their names: here they are the same.
  {
    method: 'GET',
    path: '/v1/acl/role/name/:name',
    summary: 'Read a role, by its name as other products say it',
    permission: 'acl:read',
    params: named,
    query: blocking,
    reply: ok(Role),
    errors: ['not_found'],
    example: { url: '/v1/acl/role/name/shop' },
    handle: readRole,
  },
  {
    method: 'PUT',
    path: '/v1/acl/role',
    summary: 'Create a role',
    permission: 'acl:write',
    bodySchema: NewRoleBody,
    reply: ok(Role),
    example: { body: { Name: 'warehouse', Policies: ['app'] } },
    bodyBytesMax: smallBodyBytesMax,
    handle: (request) => putRole(request, true),
  },
  {
    method: 'PUT',
    path: '/v1/acl/role/:name',
    summary: 'Create or change a role',
    permission: 'acl:write',
    params: named,
    bodySchema: RoleBody,
    reply: ok(Role),
    example: { url: '/v1/acl/role/shop', body: { Policies: ['app'] } },
    bodyBytesMax: smallBodyBytesMax,
    handle: (request) => putRole(request, false),
  },
  {
    method: 'DELETE',
    path: '/v1/acl/role/:name',
    summary: 'Delete a role',
    permission: 'acl:write',
    params: named,
    reply: ok(Type.Literal(true)),
    errors: ['not_found'],
    example: { url: '/v1/acl/role/shop' },
    handle: async (request) => {
      const name = request.parameter('name')
      const { index } = await request.call(policyMethods.deleteRole, { name })
      return { json: true, index }
    },
  },
]

/** The path's name wins by being the only one. */
function nameOf(request: ApiRequest, written: string): string {
  const name = request.parameter('name')
  if (written === '' || written === name) return name
  throw new MusterError('invalid_argument', 'Name differs from the name in the path')
}
