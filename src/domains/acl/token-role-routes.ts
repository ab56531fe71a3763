/** `/v1/auth/token/roles`: what tokens that are made by a role get. */
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
import { smallBodyBytesMax, type ApiRequest, type DescribedRoute } from '../../api/route.ts'
import { blocking, listing, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { RoleBody, TokenRole } from './token-endpoint-shapes.ts'
import { cidrsOf, lifetimeOf, policiesOf, usesOf } from './token-fields-routes.ts'
import { issuedPolicies } from './token-parameters-model.ts'
import { tokenRoleMethods, type TokenRoleChanges } from './token-role-methods.ts'
import {
  checkEntityAliases,
  isTokenRoleName,
  pathSuffixLengthMax,
  type TokenRoleRow,
  type TokenRoleType,
} from './token-role-model.ts'

const named = { name: text('Name of the role') }
const path = '/v1/auth/token/roles/:name'
const url = '/v1/auth/token/roles/builds'

export const tokenRoleRoutes: readonly DescribedRoute[] = [
  {
    method: 'LIST',
    path: '/v1/auth/token/roles',
    summary: 'List roles of the token endpoints',
    permission: 'auth:list',
    query: { ...blocking, ...listing },
    reply: keysReply,
    errors: ['not_found'],
    example: {},
    handle: async (request) =>
      keysEnvelope(request, (await request.query(tokenRoleMethods.list, pageOf(request))).value),
  },
  {
    method: 'GET',
    path,
    summary: 'Read a role of the token endpoints',
    permission: 'auth:read',
    params: named,
    query: blocking,
    reply: dataReply(TokenRole),
    errors: ['not_found'],
    example: { url },
    handle: async (request) => {
      const { value } = await request.query(tokenRoleMethods.read, { name: nameOf(request) })
      if (value === null) throw nothingThere()
      return envelope(request, { data: shownRole(value) })
    },
  },
  {
    method: 'POST',
    path,
    summary: 'Write a role of the token endpoints',
    permission: 'auth:write',
    params: named,
    bodySchema: RoleBody,
    reply: writtenReply,
    example: { url, body: { allowed_policies: ['ci'], token_period: '1h' }, status: 204 },
    bodyBytesMax: smallBodyBytesMax,
    handle: async (request) => {
      const changes = changesOf(new CoercedFields(request.json))
      await request.call(tokenRoleMethods.put, { name: nameOf(request), changes })
      return envelope(request, {})
    },
  },
  {
    method: 'DELETE',
    path,
    summary: 'Delete a role of the token endpoints',
    permission: 'auth:delete',
    params: named,
    reply: writtenReply,
    example: { url, status: 204 },
    handle: async (request) => {
      await request.call(tokenRoleMethods.remove, { name: nameOf(request) })
      return envelope(request, {})
    },
  },
]

function nameOf(request: ApiRequest): string {
  const name = request.parameter('name')
  if (isTokenRoleName(name)) return name
  throw nothingThere()
}

/** The old names count where the new ones are absent. */
function changesOf(fields: CoercedFields): TokenRoleChanges {
  const type = fields.string('token_type')
  const policies = (name: string) => {
    const list = policiesOf(fields, name)
    return list === undefined ? undefined : issuedPolicies(list)
  }
  return present({
    allowedPolicies: policies('allowed_policies'),
    disallowedPolicies: policies('disallowed_policies'),
    allowedPolicyGlobs: policies('allowed_policies_glob'),
    disallowedPolicyGlobs: policies('disallowed_policies_glob'),
    orphan: fields.boolean('orphan'),
    renewable: fields.boolean('renewable'),
    pathSuffix: fields.string('path_suffix', pathSuffixLengthMax),
    explicitMaxTtlMs: lifetimeOf(fields, 'token_explicit_max_ttl', 'explicit_max_ttl'),
    periodMs: lifetimeOf(fields, 'token_period', 'period'),
    boundCidrs: cidrsOf(fields, 'token_bound_cidrs', 'bound_cidrs'),
    noDefaultPolicy: fields.boolean('token_no_default_policy'),
    numUses: usesOf(fields, 'token_num_uses'),
    type: type === undefined ? undefined : typeOf(type),
    allowedEntityAliases: aliasesOf(fields),
  })
}

function aliasesOf(fields: CoercedFields): readonly string[] | undefined {
  const aliases = fields.list('allowed_entity_aliases')?.map((alias) => alias.toLowerCase())
  if (aliases !== undefined) checkEntityAliases(aliases)
  return aliases
}

type Present<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> }

function present<Members extends object>(members: Members): Present<Members> {
  const there = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there) as Present<Members>
}

function typeOf(type: string): TokenRoleType {
  switch (type) {
    case '':
    case 'default':
      return 'default-service'
    case 'service':
    case 'batch':
    case 'default-service':
    case 'default-batch':
      return type
    default:
      throw new MusterError(
        'invalid_argument',
        'token_type must be service, batch, default-service or default-batch',
      )
  }
}

function shownRole(row: TokenRoleRow) {
  const periodSeconds = row.periodMs / 1_000
  const maxSeconds = row.explicitMaxTtlMs / 1_000
  return {
    name: row.name,
    allowed_policies: row.allowedPolicies,
    disallowed_policies: row.disallowedPolicies,
    allowed_policies_glob: row.allowedPolicyGlobs,
    disallowed_policies_glob: row.disallowedPolicyGlobs,
    orphan: row.orphan,
    renewable: row.renewable,
    path_suffix: row.pathSuffix,
    token_explicit_max_ttl: Math.floor(maxSeconds),
    token_period: Math.floor(periodSeconds),
    token_bound_cidrs: row.boundCidrs,
    token_no_default_policy: row.noDefaultPolicy,
    token_num_uses: row.numUses,
    token_type: row.type,
    allowed_entity_aliases: row.allowedEntityAliases ?? [],
    explicit_max_ttl: Math.floor(maxSeconds),
    period: Math.floor(periodSeconds),
    bound_cidrs: row.boundCidrs,
  }
}
