/** Uses of tokens that have a limited number of them: spent one by one in the log, so that they count once over all servers. */
import { Type } from 'typebox'
import { commandsByType, defineCommand, replace, TimeMs } from '../define.ts'
import { endOf, hashLengthMax, issuedTokensVersion, type TokenRow } from './model.ts'
import { tokenByHash } from './queries.ts'
import { aclTokens } from './table.ts'

/**
 * The request that spent the last use goes on for so long at most: until then its token's row is there for the servers that the
 * request comes to, and refused to all other requests.
 */
const lastUseMs = 120_000

export type SpendUseOutcome =
  | { readonly type: 'spent'; readonly usesLeft: number }
  /** The number of its uses is not limited. */
  | { readonly type: 'unlimited' }
  /** None is left, or the token was revoked, or its time is over. */
  | { readonly type: 'gone' }

export const spendUse = defineCommand({
  type: 'acl.spendUse',
  since: issuedTokensVersion,
  args: Type.Object({ hash: Type.String({ maxLength: hashLengthMax }), nowMs: TimeMs }),
  load: (reader, { hash }) => tokenByHash(reader, hash),
  apply: ({ index }, { nowMs }, before) => {
    const refuse = (outcome: SpendUseOutcome) => ({ changes: [], outcome })
    if (before === null || endOf(before) <= nowMs) return refuse({ type: 'gone' })
    if (before.usesLeft === undefined) return refuse({ type: 'unlimited' })
    if (before.usesLeft === 0) return refuse({ type: 'gone' })
    const usesLeft = before.usesLeft - 1
    const endMs = Math.min(before.expirationTimeMs ?? Infinity, nowMs + lastUseMs)
    const row: TokenRow = {
      ...before,
      usesLeft,
      ...(usesLeft === 0 && { expirationTimeMs: endMs }),
      modifyIndex: index,
    }
    const outcome: SpendUseOutcome = { type: 'spent', usesLeft }
    return { changes: [replace(aclTokens, before, row)], outcome }
  },
})

export const useCommands = commandsByType([spendUse])
