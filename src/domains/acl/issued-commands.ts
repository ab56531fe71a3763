/** Changes of tokens that come from logins and from the token endpoints: made with a lease, renewed. */
import { Type, type Static } from 'typebox'
import type { Applied, ApplyContext, Reader } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, insert, replace, TimeMs } from '../define.ts'
import type { CreateChildTokenOutcome } from './commands.ts'
import { ancestorsWith } from './gone-queries.ts'
import {
  Accessor,
  ancestorsMax,
  endOf,
  IssuedToken,
  issuedTokensVersion,
  LifetimeMs,
  type TokenParentRow,
  type TokenRow,
} from './model.ts'
import { isIssuedTaken, isTaken, tokenByAccessor } from './queries.ts'
import { aclTokenParents, aclTokens } from './table.ts'

export type IssuedTokenOutcome = Exclude<CreateChildTokenOutcome, { type: 'unknownName' }>

/** What an entry that makes such a token has to read. */
export type IssuedTokenState = {
  readonly taken: boolean
  /** null: it has no parent, or the parent is gone. */
  readonly parentRow: TokenRow | null
  readonly ancestors: number
}

/**
 * What there is to read of a token without a parent that the leader drew and did not find in its state. The other servers need not
 * look for it: that was half of what a login cost them.
 */
export const freeToken: IssuedTokenState = { taken: false, parentRow: null, ancestors: 0 }

async function loadIssuedToken(reader: Reader, token: IssuedToken): Promise<IssuedTokenState> {
  const { parent, issuer } = token
  const isLinked = parent !== undefined || issuer !== undefined
  return {
    taken: isLinked ? isIssuedTaken(reader, token) : await isTaken(reader, token),
    parentRow: parent === undefined ? null : await tokenByAccessor(reader, parent),
    ancestors: parent === undefined ? 0 : ancestorsWith(reader, parent, ancestorsMax + 1),
  }
}

/**
 * Also for commands that make a token beside rows of their own. Names of policies are not looked up: a login gives what the
 * directory and the mappings say.
 */
export function applyIssuedToken(
  { index }: ApplyContext,
  token: IssuedToken,
  { taken, parentRow, ancestors }: IssuedTokenState,
): Applied<IssuedTokenOutcome> {
  const { accessor, parent, issuer } = token
  if (parent !== undefined) {
    if (parentRow === null || endOf(parentRow) <= token.createTimeMs) {
      return { changes: [], outcome: { type: 'parentIsGone' } }
    }
    if (ancestors > ancestorsMax) return { changes: [], outcome: { type: 'tooManyAncestors' } }
  }
  if (taken) return { changes: [], outcome: { type: 'taken' } }
  const row: TokenRow = { ...token, createIndex: index, modifyIndex: index }
  const link: TokenParentRow = {
    accessor,
    ...(parent !== undefined && { parent }),
    ...(issuer !== undefined && { mountId: issuer.mountId }),
  }
  const changes = [insert(aclTokens, row)]
  // By its accessor, which is not taken.
  if (parent !== undefined || issuer !== undefined) changes.push(insert(aclTokenParents, link))
  return { changes, outcome: { type: 'written', row } }
}

export const createIssuedToken = defineCommand({
  type: 'acl.createIssuedToken',
  since: issuedTokensVersion,
  args: IssuedToken,
  load: loadIssuedToken,
  apply: applyIssuedToken,
})

const RenewToken = Type.Object({
  accessor: Accessor,
  nowMs: TimeMs,
  /** From then on the token is worth nothing. */
  expirationTimeMs: TimeMs,
  /** null: not periodic any more. */
  periodMs: Type.Union([Type.Null(), LifetimeMs]),
})
export type RenewToken = Static<typeof RenewToken>

export type RenewTokenOutcome =
  | { readonly type: 'renewed'; readonly row: TokenRow }
  /** Its time is over, or it was revoked. */
  | { readonly type: 'gone' }
  | { readonly type: 'notRenewable' }

export const renewToken = defineCommand({
  type: 'acl.renewToken',
  since: issuedTokensVersion,
  args: RenewToken,
  load: (reader, { accessor }) => tokenByAccessor(reader, accessor),
  apply: ({ index }, { nowMs, expirationTimeMs, periodMs }, before) => {
    const refuse = (outcome: RenewTokenOutcome) => ({ changes: [], outcome })
    if (before === null || endOf(before) <= nowMs) return refuse({ type: 'gone' })
    if (before.lease?.renewable !== true) return refuse({ type: 'notRenewable' })
    const row: TokenRow = {
      ...before,
      expirationTimeMs,
      lease: { ...before.lease, periodMs, renewTimeMs: nowMs },
      modifyIndex: index,
    }
    const outcome: RenewTokenOutcome = { type: 'renewed', row }
    return { changes: [replace(aclTokens, before, row)], outcome }
  },
})

export const issuedTokenCommands = commandsByType([createIssuedToken, renewToken])
