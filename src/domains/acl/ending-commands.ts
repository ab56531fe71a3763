/** How tokens end: by a command of their own, with the token that they were made with, or with their mount. */
import type { AnyReaction, Reacted } from '../../fsm/domain.ts'
import { defineReaction, happened } from '../../fsm/fact.ts'
import { remove, removeRow } from '../define.ts'
import { mountGone, tokenGone } from './fact-model.ts'
import { issuedTokensVersion, tokenParentsVersion, type TokenRow } from './model.ts'
import { aclTokenParents, aclTokens } from './table.ts'

export function endingOf(rows: readonly TokenRow[]): Reacted {
  return {
    changes: rows.flatMap((row) => [
      removeRow(aclTokens, row),
      ...(row.parent === undefined && row.issuer === undefined
        ? []
        : [remove(aclTokenParents, [row.accessor])]),
    ]),
    happened: rows.map(({ accessor }) => happened(tokenGone, { accessor })),
  }
}

export const tokenReactions: readonly AnyReaction[] = [
  defineReaction({
    name: 'acl.ofParent',
    sinceVersion: tokenParentsVersion,
    on: tokenGone,
    table: aclTokens,
    index: 'byParent',
    prefix: ({ accessor }) => [accessor],
    // An accessor is drawn for one token, which goes once.
    since: null,
    emits: [tokenGone],
    react: (_reader, _moment, _parent, rows) => endingOf(rows),
  }),
  defineReaction({
    name: 'acl.ofMount',
    sinceVersion: issuedTokensVersion,
    on: mountGone,
    table: aclTokens,
    index: 'byMount',
    prefix: ({ mountId }) => [mountId],
    // The id is drawn for one mount, which goes once.
    since: null,
    emits: [tokenGone],
    react: (_reader, _moment, _mount, rows) => endingOf(rows),
  }),
]
