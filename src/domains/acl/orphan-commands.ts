/** Ends a token and leaves those that were made with it: they lose their parent first, a bounded number in each entry. */
import { Type, type Static } from 'typebox'
import type { Change, Reader } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, put, remove, replace, TimeMs } from '../define.ts'
import { endingOf } from './ending-commands.ts'
import { Accessor, issuedTokensVersion, type TokenParentRow, type TokenRow } from './model.ts'
import { tokenByAccessor, tokensPerEntryMax } from './queries.ts'
import { aclTokenParents, aclTokens } from './table.ts'

const OrphanToken = Type.Object({ accessor: Accessor, nowMs: TimeMs })

/** more: there are tokens left that have the parent, so the same is proposed again. */
export type OrphanTokenOutcome = { readonly type: 'more' } | { readonly type: 'gone' }

export const orphanToken = defineCommand({
  type: 'acl.orphanToken',
  since: issuedTokensVersion,
  args: OrphanToken,
  load: async (reader, { accessor }: Static<typeof OrphanToken>) => ({
    row: await tokenByAccessor(reader, accessor),
    children: await childrenOf(reader, accessor),
  }),
  apply: ({ index }, { nowMs }, { row, children }) => {
    const answer = (outcome: OrphanTokenOutcome, changes: readonly Change[]) => ({
      changes,
      outcome,
    })
    if (row === null) return answer({ type: 'gone' }, [])
    if (children.length > 0) {
      return answer(
        { type: 'more' },
        children.flatMap((child) => freed(child, index)),
      )
    }
    const { changes, happened } = endingOf([row])
    return { ...answer({ type: 'gone' }, changes), happened: { nowMs, facts: happened } }
  },
})

export const orphanCommands = commandsByType([orphanToken])

async function childrenOf(reader: Reader, accessor: string): Promise<readonly TokenRow[]> {
  const rows: TokenRow[] = []
  for await (const page of reader.pagesBy(aclTokens, 'byParent', { prefix: [accessor] })) {
    for (const row of page) if (rows.length < tokensPerEntryMax) rows.push(row)
    if (rows.length >= tokensPerEntryMax) break
  }
  return rows
}

function freed(child: TokenRow, index: number): readonly Change[] {
  const { parent: _parent, ...rest } = child
  const { accessor, issuer } = child
  const link: TokenParentRow | null =
    issuer === undefined ? null : { accessor, mountId: issuer.mountId }
  return [
    replace(aclTokens, child, { ...rest, modifyIndex: index }),
    link === null ? remove(aclTokenParents, [accessor]) : put(aclTokenParents, link),
  ]
}
