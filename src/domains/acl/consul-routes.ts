/** Tokens in Consul's dialect, over the same methods as `routes.ts`. */
import { Type } from 'typebox'
import type { Fields } from '../../api/fields.ts'
import { refuseOutOfScope } from '../../api/out-of-scope.ts'
import { listHeaders, pageOf } from '../../api/pages.ts'
import {
  type ApiReply,
  type ApiRequest,
  type DescribedRoute,
  smallBodyBytesMax,
} from '../../api/route.ts'
import { blocking, listing, ok, optionally, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { isUuid } from '../../lib/uuid.ts'
import { aclConsulMethods } from './consul-methods.ts'
import { anonymousAccessor, managementPolicy, tokenInConsul, type Named } from './consul-shown.ts'
import type { CreatedToken } from './issue.ts'
import { aclMethods } from './methods.ts'
import { bodyOf, expirationOf } from './routes.ts'
import {
  BootstrapBody,
  CloneBody,
  ConsulFirstToken,
  ConsulToken,
  ConsulTokenBody,
} from './shapes.ts'
import { shownToken } from './shown.ts'

export const dialect = 'consul'

/** Null: no such one. */
export const nameOf = async (
  request: ApiRequest,
  what: Named,
  id: string,
): Promise<string | null> => {
  // What is no id of any is asked for all the same, so that only those with the right learn that there is none.
  const asked = isUuid(id) ? id : ''
  return (await request.query(aclConsulMethods.nameOf, { what, id: asked })).value
}

export const linksOf = async (
  request: ApiRequest,
  fields: Fields,
  what: Named,
): Promise<string[]> => {
  const names: string[] = []
  for (const item of fields.list(what === 'policy' ? 'Policies' : 'Roles') ?? []) {
    const link = fields.within(item, what === 'policy' ? 'Policies.' : 'Roles.')
    const id = link.text('ID') ?? ''
    const name = link.text('Name') || (id === '' ? null : await nameOf(request, what, id))
    if (name === null)
      throw new MusterError(
        'invalid_argument',
        `there is no ${what} with the ID ${JSON.stringify(id.slice(0, 64))}`,
      )
    names.push(name)
  }
  return names
}

/** What a token of Consul says of itself, in the words of this program. */
const tokenOf = async (request: ApiRequest, fields: Fields) => {
  refuseIdentities(fields)
  const named = await linksOf(request, fields, 'policy')
  const isManager = named.includes(managementPolicy)
  return {
    name: null,
    description: fields.text('Description') ?? '',
    type: isManager ? ('management' as const) : ('client' as const),
    policies: named.filter((name) => name !== managementPolicy),
    roles: await linksOf(request, fields, 'role'),
  }
}

const shownAccessor = async (request: ApiRequest) => {
  const accessor = request.parameter('accessor')
  refuseAnonymous(accessor)
  const { value } = await request.query(aclMethods.read, { accessor })
  return value
}

const ofToken = { accessor: text('Accessor of the token') }

export const bodyBytesMax = smallBodyBytesMax

export const aclConsulRoutes: readonly DescribedRoute[] = [
  {
    method: 'PUT',
    path: '/v1/acl/bootstrap',
    summary: 'Make the first token',
    permission: 'none',
    bodySchema: BootstrapBody,
    reply: ok(ConsulFirstToken),
    example: { body: {}, shownOnly: 'there is one already' },
    dialect,
    bodyBytesMax,
    handle: async (request) => {
      const secret = request.json === undefined ? '' : bodyOf(request).text('BootstrapSecret')
      const first = { secret: secret || null, forConsul: true }
      return created(await request.call(aclMethods.bootstrap, first), true)
    },
  },
  {
    method: 'GET',
    path: '/v1/acl/tokens',
    summary: 'List tokens',
    permission: 'acl:read',
    query: {
      ...blocking,
      ...listing,
      ...optionally({ policy: text('Id of a policy'), role: text('Id of a role') }),
    },
    reply: ok(Type.Array(ConsulToken)),
    example: {},
    dialect,
    handle: async (request) => {
      const [policy, role] = [request.search.text('policy'), request.search.text('role')]
      const names = {
        policy: policy ? await nameOf(request, 'policy', policy) : '',
        role: role ? await nameOf(request, 'role', role) : '',
      }
      if (names.policy === null || names.role === null) return { json: [] }
      const isManaged = names.policy === managementPolicy
      const { value } = await request.query(aclMethods.list, {
        ...pageOf(request),
        policy: isManaged ? '' : names.policy,
        role: names.role,
      })
      const rows = value.rows.filter(({ Type }) => !isManaged || Type === 'management')
      return { json: rows.map((row) => tokenInConsul(row)), ...listHeaders(value) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/acl/token',
    summary: 'Make a token',
    permission: 'acl:write',
    bodySchema: ConsulTokenBody,
    reply: ok(ConsulToken),
    errors: ['not_found'],
    example: {
      body: { Description: 'ci', Policies: [{ Name: 'global-management' }] },
      keeps: { consulAccessor: 'AccessorID' },
    },
    dialect,
    bodyBytesMax,
    handle: async (request) => {
      const fields = bodyOf(request)
      for (const name of ['AccessorID', 'SecretID']) {
        if (fields.text(name)) {
          throw new MusterError('invalid_argument', `${name} is drawn by the cluster: leave it out`)
        }
      }
      const token = { ...(await tokenOf(request, fields)), ...expirationOf(fields) }
      return created(await request.call(aclMethods.create, token))
    },
  },
  {
    method: 'GET',
    path: '/v1/acl/token/self',
    summary: 'Read the token of the request',
    permission: 'any token',
    query: blocking,
    reply: ok(ConsulToken),
    errors: ['not_found'],
    example: {},
    dialect,
    handle: async (request) => {
      const { value } = await request.query(aclMethods.self, { expanded: false })
      if (!('CreateTime' in value)) return notFound
      return { json: tokenInConsul(value, request.token ?? '') }
    },
  },
  {
    method: 'GET',
    path: '/v1/acl/token/:accessor',
    summary: 'Read a token',
    permission: 'acl:read',
    params: ofToken,
    query: blocking,
    reply: ok(ConsulToken),
    errors: ['not_found'],
    example: { url: '/v1/acl/token/{consulAccessor}' },
    dialect,
    handle: async (request) => {
      const value = await shownAccessor(request)
      return value === null ? notFound : { json: tokenInConsul(value) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/acl/token/:accessor',
    summary: 'Change a token',
    permission: 'acl:write',
    params: ofToken,
    bodySchema: ConsulTokenBody,
    reply: ok(ConsulToken),
    errors: ['not_found'],
    example: {
      url: '/v1/acl/token/{consulAccessor}',
      body: { Description: 'Builds', Policies: [{ Name: 'global-management' }] },
    },
    dialect,
    bodyBytesMax,
    handle: async (request) => {
      refuseOutOfScope(request.path)
      const accessor = request.parameter('accessor')
      refuseAnonymous(accessor)
      const token = await tokenOf(request, bodyOf(request))
      const row = await request.call(aclMethods.update, { accessor, ...token })
      return { json: tokenInConsul(shownToken(row)), index: row.modifyIndex }
    },
  },
  {
    method: 'PUT',
    path: '/v1/acl/token/:accessor/clone',
    summary: 'Make a token like another one',
    permission: 'acl:read',
    params: ofToken,
    bodySchema: CloneBody,
    reply: ok(ConsulToken),
    errors: ['not_found'],
    example: { url: '/v1/acl/token/{consulAccessor}/clone', body: { Description: 'More builds' } },
    dialect,
    bodyBytesMax,
    handle: async (request) => {
      const value = await shownAccessor(request)
      if (value === null) return notFound
      const description = request.json === undefined ? '' : bodyOf(request).text('Description')
      const token = {
        name: value.Name,
        description: description || value.Description,
        type: value.Type,
        policies: [...value.Policies],
        roles: value.Roles.map(({ Name }) => Name),
        ttlMs: null,
        expirationTimeMs:
          value.ExpirationTime === undefined ? null : Date.parse(value.ExpirationTime),
      }
      return created(await request.call(aclMethods.create, token))
    },
  },
]

export const notFound: ApiReply = { status: 404, text: 'ACL not found' }

/** `isFirst`: clients of bootstrap read the secret as ID too. */
function created({ row, secret }: CreatedToken, isFirst = false): ApiReply {
  const json = tokenInConsul(shownToken(row), secret)
  return { json: isFirst ? { ID: secret, ...json } : json, index: row.modifyIndex }
}

export function refuseIdentities(fields: Fields): void {
  for (const name of ['ServiceIdentities', 'NodeIdentities', 'TemplatedPolicies']) {
    if ((fields.list(name) ?? []).length === 0) continue
    throw new MusterError(
      'invalid_argument',
      `${name} are not served: write a policy and name it in Policies`,
    )
  }
}

function refuseAnonymous(accessor: string): void {
  if (accessor !== anonymousAccessor) return
  throw new MusterError(
    'invalid_argument',
    'requests without a token have no token here: what they may do is in the policy named anonymous',
  )
}
