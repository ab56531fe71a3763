/** What may be asked about tokens. `issue.ts` makes them, at the leader. */
import { Type, type Static } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { onePage, Page, startOf } from '../../rpc/list.ts'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import { secretHasher } from '../host.ts'
import { denied } from '../../rpc/refusal.ts'
import { deleteTokens, updateToken, type UpdateToken } from './commands.ts'
import {
  bootstrapNoLonger,
  issueFirstToken,
  issueToken,
  writtenToken,
  type CreatedToken,
  type OperatorTokenSpec,
} from './issue.ts'
import {
  Accessor,
  checkDescription,
  checkNames,
  policiesPerTokenMax,
  rolesPerTokenMax,
  tokenNameBytesMax,
  ttlMsMax,
  ttlMsMin,
  TokenType,
  type TokenRow,
} from './model.ts'
import { ownIndex, ownRow } from './own-token.ts'
import { aclIndex, allTokens, listedMax, tokenByAccessor } from './queries.ts'
import { shownRights } from './rights.ts'
import { policiesOf } from './rule-sets.ts'
import { aclSettings, assertAclEnabled, bootstrapReset } from './services.ts'
import { shownPolicyStub, shownToken, tokenFilters, type ShownToken } from './shown.ts'

const Names = Type.Immutable(Type.Array(Type.String()))

const Fields = {
  name: Type.Union([Type.Null(), Type.String()]),
  description: Type.Union([Type.Null(), Type.String()]),
  type: Type.Union([Type.Null(), TokenType]),
  policies: Type.Union([Type.Null(), Names]),
  roles: Type.Union([Type.Null(), Names]),
}

const CreateToken = Type.Object({
  ...Fields,
  /** From now on; null: no end. */
  ttlMs: Type.Union([Type.Null(), Type.Number()]),
  /** Instead of `ttlMs`. */
  expirationTimeMs: Type.Union([Type.Null(), Type.Number()]),
})

const bootstrap = defineLeaderMethod({
  kind: 'leader',
  name: 'acl.bootstrap',
  args: Type.Object({
    secret: Type.Union([Type.Null(), Type.String()]),
    /** Asked in Consul's dialect. */
    forConsul: Type.Optional(Type.Boolean()),
  }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { secret, forConsul }): Promise<CreatedToken> => {
    assertAclEnabled(context)
    const reset = context.service(bootstrapReset)
    const resetIndex = await reset.read()
    try {
      return forConsul === true
        ? await issueFirstToken(context, secret, resetIndex, bootstrapNoLonger)
        : await issueFirstToken(context, secret, resetIndex)
    } finally {
      if (resetIndex !== null) await reset.removeStale(true)
    }
  },
})

const list = defineQuery({
  kind: 'query',
  name: 'acl.tokens',
  args: Type.Object({ ...Page, policy: Type.String(), role: Type.String() }),
  requires: () => ({ resource: 'acl', access: 'read' }),
  query: async (reader, { policy, role, prefix, ...page }, context) => {
    assertAclEnabled(context)
    const isWanted = (row: TokenRow): boolean =>
      row.accessor.startsWith(prefix) &&
      (policy === '' || row.policies.includes(policy)) &&
      (role === '' || row.roles.includes(role))
    const value = await onePage(context, page, {
      pages: allTokens(reader, startOf(page)),
      keyOf: (row) => [row.accessor],
      show: (row) => (isWanted(row) ? shownToken(row) : null),
      filter: tokenFilters.compile(page.filter),
      max: listedMax,
    })
    return { value, index: aclIndex(reader, 'tokens') }
  },
})

const read = defineQuery({
  kind: 'query',
  name: 'acl.token',
  args: Type.Object({ accessor: Accessor }),
  requires: () => ({ resource: 'acl', access: 'read' }),
  query: async (reader, { accessor }, context) => {
    assertAclEnabled(context)
    const row = await tokenByAccessor(reader, accessor.toLowerCase())
    const value: ShownToken | null = row === null || row.usesLeft === 0 ? null : shownToken(row)
    return { value, index: row?.modifyIndex ?? aclIndex(reader, 'tokens') }
  },
})

/** Every token may read its own rights. */
const self = defineQuery({
  kind: 'query',
  name: 'acl.tokenSelf',
  args: Type.Object({ expanded: Type.Boolean() }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { expanded }, context) => {
    assertAclEnabled(context)
    const { token } = context.caller
    const row = token === null ? null : ownRow(reader, token, context)
    // Those without a token have none to show, but what they may do is theirs to know.
    if (row === null && (token !== null || !expanded)) {
      throw denied('the request has no token')
    }
    const shown = row === null ? { AccessorID: '', Type: 'client' as const } : shownToken(row)
    const index = row?.modifyIndex ?? aclIndex(reader, 'policies')
    if (!expanded) return { value: shown, index }
    const settings = context.service(aclSettings)
    const rights = shownRights(reader, row, settings)
    const hasher = token === null ? null : await context.service(secretHasher)()
    const AuditHash = token === null ? null : (hasher?.of(token) ?? null)
    return { value: { ...shown, ...rights, AuditHash }, index }
  },
})

/** Every token may read the policies that its rights follow from; a management token needs none. */
const ownPolicies = defineQuery({
  kind: 'query',
  name: 'acl.ownPolicies',
  args: Type.Object({}),
  requires: () => ({ resource: 'none' }),
  query: (reader, _, context) => {
    assertAclEnabled(context)
    const { token } = context.caller
    const row = token === null ? null : ownRow(reader, token, context)
    if (row === null) throw denied('the request has no token')
    return { value: policiesOf(reader, row).map(shownPolicyStub), index: ownIndex(reader, row) }
  },
})

const create = defineLeaderMethod({
  kind: 'leader',
  name: 'acl.createToken',
  args: CreateToken,
  requires: () => ({ resource: 'acl', access: 'write' }),
  run: async (context, args): Promise<CreatedToken> => {
    assertAclEnabled(context)
    return issueToken(context, specOf(args, Math.floor(context.clock.wallMs())))
  },
})

const update = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'acl.updateToken',
  args: Type.Object({ accessor: Accessor, ...Fields }),
  requires: () => ({ resource: 'acl', access: 'write' }),
  run: async (context, args): Promise<TokenRow> => {
    assertAclEnabled(context)
    const checked: UpdateToken = { accessor: args.accessor.toLowerCase(), ...checkFields(args) }
    if (checked.type !== 'management' && checked.policies?.length === 0) {
      const before = await tokenByAccessor(context.read(), checked.accessor)
      const roles = checked.roles ?? before?.roles ?? []
      if (before !== null) assertOfUse(checked.type ?? before.type, [], roles)
    }
    const { outcome } = await context.propose(updateToken, checked)
    return writtenToken(outcome)
  },
})

const remove = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'acl.deleteToken',
  endsTokens: true,
  args: Type.Object({ accessor: Accessor }),
  requires: () => ({ resource: 'acl', access: 'write' }),
  run: async (context, { accessor }): Promise<{ readonly index: number }> => {
    assertAclEnabled(context)
    const { index, outcome } = await context.propose(deleteTokens, {
      accessors: [accessor.toLowerCase()],
      nowMs: Math.floor(context.clock.wallMs()),
      expiredOnly: false,
    })
    if (outcome.deleted > 0) return { index }
    throw new MusterError('not_found', 'ACL token not found')
  },
})

export const aclMethods = { bootstrap, list, read, self, ownPolicies, create, update, remove }

type TokenFields = {
  readonly name: string | null
  readonly description: string | null
  readonly type: TokenType | null
  readonly policies: readonly string[] | null
  readonly roles: readonly string[] | null
}

function specOf(args: Static<typeof CreateToken>, nowMs: number): OperatorTokenSpec {
  const { name, description, type, policies, roles } = checkFields(args)
  assertOfUse(type ?? 'client', policies ?? [], roles ?? [])
  return {
    name: name ?? '',
    description: description ?? '',
    type: type ?? 'client',
    policies: policies ?? [],
    roles: roles ?? [],
    createTimeMs: nowMs,
    expirationTimeMs: expirationOf(nowMs, args.ttlMs, args.expirationTimeMs),
  }
}

function checkFields(fields: TokenFields): TokenFields {
  const { name, description, type, policies, roles } = fields
  return {
    name: name === null ? null : checkDescription(name, 'Name', tokenNameBytesMax),
    description: description === null ? null : checkDescription(description),
    type,
    policies: policies === null ? null : checkNames('policy', policies, policiesPerTokenMax),
    roles: roles === null ? null : checkNames('role', roles, rolesPerTokenMax),
  }
}

function assertOfUse(type: TokenType, policies: readonly string[], roles: readonly string[]): void {
  if (type === 'management' || policies.length > 0 || roles.length > 0) return
  throw new MusterError('invalid_argument', 'a client token needs Policies or Roles')
}

function expirationOf(
  nowMs: number,
  ttlMs: number | null,
  expirationTimeMs: number | null,
): number | null {
  if (ttlMs !== null && expirationTimeMs !== null) {
    throw new MusterError('invalid_argument', 'give ExpirationTTL or ExpirationTime, not both')
  }
  if (ttlMs === null && expirationTimeMs === null) return null
  const left = ttlMs ?? (expirationTimeMs ?? nowMs) - nowMs
  if (left >= ttlMsMin && left <= ttlMsMax) return Math.floor(nowMs + left)
  throw new MusterError('invalid_argument', 'a token lasts from 1s to 87600h')
}
