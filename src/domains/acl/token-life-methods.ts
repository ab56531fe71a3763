/** Looks tokens up, renews and revokes them: `/v1/auth/token`. Secrets come as hashes, made where the request arrived. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { Page, startOf } from '../../rpc/list.ts'
import {
  defineLeaderMethod,
  defineQuery,
  type LeaderContext,
  type QueryContext,
} from '../../rpc/method.ts'
import { pageOfNames } from '../../rpc/name-list.ts'
import { denied, unknownToken } from '../../rpc/refusal.ts'
import type { Reader } from '../../fsm/domain.ts'
import { noBatch } from './batch-tokens.ts'
import { hashOf } from './authorizer.ts'
import { deleteTokens } from './commands.ts'
import { renewToken } from './issued-commands.ts'
import { shownAuth } from './issued-shown.ts'
import { lifetimeAtRenewal, systemLifetimes } from './lifetime-model.ts'
import { Accessor, endOf, hashLengthMax, LifetimeMs, type TokenRow } from './model.ts'
import { orphanToken } from './orphan-commands.ts'
import { aclIndex, allTokens, tokenByAccessor, tokenByHash } from './queries.ts'
import { assertAclEnabled, batchTokens, loginRenewal, type PresentLifetimes } from './services.ts'
import { aclTokenRoles } from './table.ts'

/** Whose token: the caller's own, one whose secret the caller sent, or one by its accessor. */
const Which = Type.Union([
  Type.Object({ by: Type.Literal('self') }),
  Type.Object({ by: Type.Literal('token'), hash: Type.String({ maxLength: hashLengthMax }) }),
  Type.Object({ by: Type.Literal('accessor'), accessor: Accessor }),
])
type Which = Type.Static<typeof Which>

const endings = { self: '-self', token: '', accessor: '-accessor' } as const

function pathFor(verb: 'lookup' | 'renew' | 'revoke', { by }: Which): string {
  return `token/${verb}${endings[by]}`
}

/** null: there is none, or it is over. */
async function find(
  reader: Reader,
  which: Which,
  { caller }: Pick<QueryContext, 'caller'>,
  nowMs: number,
): Promise<TokenRow | null> {
  const row = await rowOf(reader, which, caller.token)
  if (row === null || endOf(row) <= nowMs) return null
  return row.usesLeft === 0 && which.by !== 'self' ? null : row
}

function rowOf(reader: Reader, which: Which, own: string | null) {
  switch (which.by) {
    case 'self':
      return own === null ? null : tokenByHash(reader, hashOf(own))
    case 'token':
      return tokenByHash(reader, which.hash)
    case 'accessor':
      return tokenByAccessor(reader, which.accessor.toLowerCase())
  }
}

/** `hash`: of the caller's own token too, so that two callers never share an answer. */
const lookup = defineQuery({
  kind: 'query',
  name: 'acl.lookupToken',
  args: Type.Object({
    which: Which,
    isSelf: Type.Boolean(),
    /** The caller's own, asked by GET at the path for all. Absent: no. */
    isRead: Type.Optional(Type.Boolean()),
    /** The secret of a batch token, in which all is that there is of it; null: another token. */
    batch: Type.Union([Type.Null(), Type.String()]),
  }),
  requires: ({ which, isSelf, isRead }) => ({
    resource: 'auth',
    path: isSelf ? 'token/lookup-self' : pathFor('lookup', which),
    // As Vault's policies have it: what is asked by POST needs the right to update.
    access: isSelf || isRead === true ? 'read' : 'write',
  }),
  query: (reader, { which, isSelf, isRead, batch }, context) => {
    assertAclEnabled(context)
    const { token } = context.caller
    const isOwn = token !== null && which.by === 'token' && which.hash === hashOf(token)
    if ((isSelf || isRead === true) && !isOwn) throw denied('a token looks itself up')
    const shown = (found: TokenRow | null) => {
      // The request that spent the last use sees its token; nobody else does.
      const row = found?.usesLeft === 0 && !isOwn ? null : found
      return { value: row, index: row?.modifyIndex ?? aclIndex(reader, 'tokens') }
    }
    if (batch !== null) return shown(context.service(batchTokens).open(reader, batch)?.row ?? null)
    const found = rowOf(reader, which, token)
    return found instanceof Promise ? found.then(shown) : shown(found)
  },
})

const accessors = defineQuery({
  kind: 'query',
  name: 'acl.tokenAccessors',
  args: Type.Object(Page),
  requires: () => ({ resource: 'auth', path: 'token/accessors', access: 'list' }),
  query: async (reader, args, context) => {
    assertAclEnabled(context)
    const value = await pageOfNames(context, args, {
      pages: allTokens(reader, startOf(args)),
      keyOf: ({ accessor }) => [accessor],
      nameOf: ({ accessor }) => accessor,
    })
    return { value, index: aclIndex(reader, 'tokens') }
  },
})

const renew = defineLeaderMethod({
  kind: 'leader',
  name: 'acl.renewToken',
  args: Type.Object({
    which: Which,
    /** 0: none. */
    incrementMs: LifetimeMs,
    isBatch: Type.Boolean(),
  }),
  requires: ({ which }) => ({ resource: 'auth', path: pathFor('renew', which), access: 'write' }),
  run: async (context, { which, incrementMs, isBatch }) => {
    assertAclEnabled(context)
    if (isBatch) throw noBatch('cannot be renewed')
    const row = await find(context.read(), which, context, context.clock.wallMs())
    if (row === null) throw unknownToken()
    const { lease, accessor, createTimeMs } = row
    if (lease?.renewable !== true) throw notRenewable()
    const { parameters, lifetimes } = await presentOf(row, context)
    const nowMs = Math.floor(context.clock.wallMs())
    const { explicitMaxTtlMs } = lease
    const { ttlMs, periodMs, warnings } = lifetimeAtRenewal({
      createTimeMs,
      nowMs,
      incrementMs,
      present: parameters,
      explicitMaxTtlMs,
      mount: lifetimes,
    })
    const expirationTimeMs = nowMs + ttlMs
    const { outcome } = await context.propose(renewToken, {
      accessor,
      nowMs,
      expirationTimeMs,
      periodMs,
    })
    if (outcome.type === 'gone') throw unknownToken()
    if (outcome.type === 'notRenewable') throw notRenewable()
    // The secret is not known here: the route adds the one that it was sent.
    return { auth: shownAuth(outcome.row, '', nowMs), warnings }
  },
})

/** Also of a token that is not there (any more). */
const revoke = defineLeaderMethod({
  kind: 'leader',
  name: 'acl.revokeToken',
  endsTokens: true,
  args: Type.Object({ which: Which, isBatch: Type.Boolean() }),
  requires: ({ which }) => ({ resource: 'auth', path: pathFor('revoke', which), access: 'write' }),
  run: async (context, { which, isBatch }): Promise<{ readonly revoked: boolean }> => {
    assertAclEnabled(context)
    if (isBatch) throw noBatch('cannot be revoked')
    const row = await find(context.read(), which, context, context.clock.wallMs())
    if (row === null) return { revoked: false }
    await end(context, row)
    return { revoked: true }
  },
})

/** The tokens that were made with it stay, each an orphan from then on. */
const revokeOrphan = defineLeaderMethod({
  kind: 'leader',
  name: 'acl.revokeTokenAlone',
  endsTokens: true,
  args: Type.Object({ hash: Type.String({ maxLength: hashLengthMax }), isBatch: Type.Boolean() }),
  requires: () => ({ resource: 'auth', path: 'token/revoke-orphan', access: 'write' }),
  run: async (context, { hash, isBatch }): Promise<{ readonly revoked: boolean }> => {
    assertAclEnabled(context)
    if (isBatch) throw noBatch('cannot be revoked')
    const which = { by: 'token', hash } as const
    const row = await find(context.read(), which, context, context.clock.wallMs())
    if (row === null) return { revoked: false }
    for (;;) {
      const { accessor } = row
      const nowMs = Math.floor(context.clock.wallMs())
      const { outcome } = await context.propose(orphanToken, { accessor, nowMs })
      if (outcome.type === 'gone') return { revoked: true }
    }
  },
})

export const tokenLifeMethods = { lookup, accessors, renew, revoke, revokeOrphan }

async function end(context: LeaderContext, { accessor }: TokenRow): Promise<void> {
  const nowMs = Math.floor(context.clock.wallMs())
  await context.propose(deleteTokens, { accessors: [accessor], nowMs, expiredOnly: false })
}

/** By the configuration, role or lease that the token is renewed by. */
async function presentOf(row: TokenRow, context: LeaderContext): Promise<PresentLifetimes> {
  const { issuer, lease, tokenRole } = row
  if (issuer !== undefined) {
    const { current } = context.service(loginRenewal)
    if (current === null) throw notRenewable()
    return current.present(row, context)
  }
  const own = { ttlMs: lease?.ttlMs ?? 0, maxTtlMs: 0, periodMs: lease?.periodMs ?? 0 }
  if (tokenRole === undefined) return { parameters: own, lifetimes: systemLifetimes }
  const role = context.read().get(aclTokenRoles, [tokenRole])
  if (role === undefined) {
    throw new MusterError('invalid_argument', 'the role of the token is gone: it is not renewed')
  }
  // A lease does not say whether its period was the role's: where the role has none now, it stays.
  const parameters = role.periodMs > 0 ? { ...own, periodMs: role.periodMs } : own
  return { parameters, lifetimes: systemLifetimes }
}

function notRenewable(): MusterError {
  return new MusterError('invalid_argument', 'the token is not renewable')
}
