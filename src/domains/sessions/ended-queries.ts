/**
 * Sessions that have ended although their rows are still there: an entry that ends very many leaves a mark instead
 * (`fsm/reactions.ts`). Code that reads rows of sessions, or of what they hold, reads through this.
 */
import type { Moment } from '../../fsm/domain.ts'
import { hasMarks, markedAt, type MarkReader } from '../../fsm/fact.ts'
import { mountGone } from '../acl/fact-model.ts'
import { tokenGoneAt } from '../acl/gone-queries.ts'
import { checkLost, nodeLost } from '../catalog/fact-model.ts'
import { keyOfName } from '../catalog/model.ts'
import { sessionEnded } from './fact-model.ts'
import type { SessionPlace, SessionRow, SessionSpec } from './model.ts'
import { sessions } from './table.ts'

/** What a session hangs on. */
type Bonds = Pick<SessionRow, 'node' | 'boundChecks' | 'token' | 'createIndex'> & {
  readonly tokenMountId?: string | undefined
}

type Ended = Pick<SessionSpec, 'behavior' | 'lockDelayNs'> & { readonly moment: Moment }

/** For rows of one state: when the session of a row ended, null for one that stands. */
export function endingsIn(reader: MarkReader): (row: Bonds) => Moment | null {
  if (!hasMarks(reader)) return () => null
  return ({ node, boundChecks, token, tokenMountId, createIndex }) => {
    const key = keyOfName(node)
    const moments = [
      markedAt(reader, nodeLost, [key], createIndex),
      ...boundChecks.map((check) => markedAt(reader, checkLost, [key, check], createIndex)),
      token === null ? null : tokenGoneAt(reader, token, createIndex),
      tokenMountId === undefined ? null : markedAt(reader, mountGone, [tokenMountId], createIndex),
    ]
    return moments.reduce(earlier, null)
  }
}

function earlier(left: Moment | null, right: Moment | null): Moment | null {
  if (left === null || right === null) return left ?? right
  return right.index < left.index ? right : left
}

/** As `endingsIn`, for what a session holds; its row may be gone. Null also for a session that was never there. */
export function endedIn(reader: MarkReader): (place: SessionPlace) => Ended | null {
  if (!hasMarks(reader)) return () => null
  const endedAt = endingsIn(reader)
  return ({ namespace, id }) => {
    const mark = reader.get(sessionEnded.marks, [id])
    const [moment] = mark?.moments ?? []
    if (mark !== undefined && moment !== undefined) return { ...mark.payload, moment }
    const row = reader.get(sessions, [namespace, id])
    const ended = row === undefined ? null : endedAt(row)
    return row === undefined || ended === null ? null : { ...row, moment: ended }
  }
}
