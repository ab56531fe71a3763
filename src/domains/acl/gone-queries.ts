/**
 * Tokens that are gone although their rows are still there: a token ends with the tokens above it and with its mount, in the same entry, but the
 * rows of very many are written later (`fsm/reactions.ts`). Reads of tokens look through this.
 */
import type { Moment } from '../../fsm/domain.ts'
import { hasMarks, markedAt, type MarkReader } from '../../fsm/fact.ts'
import { mountGone, tokenGone } from './fact-model.ts'
import type { TokenRow } from './model.ts'
import { aclTokenParents } from './table.ts'

/**
 * While there are marks: when the token went for what hangs on it since the entry `since`. Null: it has not, or all that hung on
 * it then is written.
 */
export function tokenGoneAt(reader: MarkReader, accessor: string, since: number): Moment | null {
  return markedAt(reader, tokenGone, [accessor], since) ?? goneWithAncestor(reader, accessor)
}

/** The nearest mark is the only one that counts: the row of a token goes before what is below it. */
function goneWithAncestor(reader: MarkReader, accessor: string): Moment | null {
  let link = reader.get(aclTokenParents, [accessor])
  while (link !== undefined) {
    const { parent, mountId } = link
    if (mountId !== undefined) {
      const moment = markedAt(reader, mountGone, [mountId], 0)
      if (moment !== null) return moment
    }
    if (parent === undefined) return null
    const moment = markedAt(reader, tokenGone, [parent], 0)
    if (moment !== null) return moment
    link = reader.get(aclTokenParents, [parent])
  }
  return null
}

/** Of a stored row. Without a parent or a mount this reads nothing, without marks one row. */
export function isGone(reader: MarkReader, { accessor, parent, issuer }: TokenRow): boolean {
  if ((parent === undefined && issuer === undefined) || !hasMarks(reader)) return false
  return goneWithAncestor(reader, accessor) !== null
}

/** Above a token that has this parent. Counted up to `most`. */
export function ancestorsWith(reader: MarkReader, parent: string, most: number): number {
  let count = 1
  let link = reader.get(aclTokenParents, [parent])
  while (link?.parent !== undefined && count < most) {
    count += 1
    link = reader.get(aclTokenParents, [link.parent])
  }
  return count
}
