/** How sessions end: by a command of their own, or with what they were bound to. What hangs on them goes in the same entry. */
import type { AnyReaction, Fact, Happening, Moment, Reacted, Reader } from '../../fsm/domain.ts'
import { defineReaction, happened } from '../../fsm/fact.ts'
import { mountGone, tokenGone } from '../acl/fact-model.ts'
import { checkLost, nodeLost, type Loss } from '../catalog/fact-model.ts'
import { keyOfName } from '../catalog/model.ts'
import { removeRow } from '../define.ts'
import { endingsIn } from './ended-queries.ts'
import { sessionEnded } from './fact-model.ts'
import { tokenMountVersion, type SessionRow } from './model.ts'
import { sessions } from './table.ts'

export function endOf(rows: readonly SessionRow[]): Reacted {
  return {
    changes: rows.map((row) => removeRow(sessions, row)),
    happened: rows.map(endedOf),
  }
}

function endedOf({ namespace, id, behavior, lockDelayNs }: SessionRow): Happening {
  return happened(sessionEnded, { namespace, id, behavior, lockDelayNs })
}

/** Whether the session ends in an entry with these losses. */
export function isLost({ node, boundChecks }: SessionRow, losses: readonly Loss[]): boolean {
  const loss = losses.find((loss) => loss.node === keyOfName(node))
  if (loss === undefined) return false
  const { checkIds } = loss
  return checkIds === 'all' || boundChecks.some((id) => checkIds.includes(id))
}

/** Those that had not ended before. */
function standingAt(reader: Reader, { index }: Moment, rows: readonly SessionRow[]) {
  const endedAt = endingsIn(reader)
  return rows.filter((row) => (endedAt(row)?.index ?? index) >= index)
}

const createIndexOf = ({ createIndex }: SessionRow): number => createIndex
const emits: readonly Fact<never>[] = [sessionEnded]

export const sessionReactions: readonly AnyReaction[] = [
  defineReaction({
    name: 'sessions.ofToken',
    on: tokenGone,
    table: sessions,
    index: 'byToken',
    prefix: ({ accessor }) => [accessor],
    since: createIndexOf,
    emits,
    react: (reader, moment, _token, rows) => endOf(standingAt(reader, moment, rows)),
  }),
  defineReaction({
    name: 'sessions.ofMount',
    sinceVersion: tokenMountVersion,
    on: mountGone,
    table: sessions,
    index: 'byMount',
    prefix: ({ mountId }) => [mountId],
    since: createIndexOf,
    emits,
    react: (reader, moment, _mount, rows) => endOf(standingAt(reader, moment, rows)),
  }),
  defineReaction({
    name: 'sessions.ofNode',
    on: nodeLost,
    table: sessions,
    index: 'byNode',
    prefix: ({ node }) => [node],
    since: createIndexOf,
    emits,
    react: (reader, moment, _node, rows) => endOf(standingAt(reader, moment, rows)),
  }),
  defineReaction({
    name: 'sessions.ofCheck',
    on: checkLost,
    table: sessions,
    index: 'byNode',
    prefix: ({ node }) => [node],
    since: createIndexOf,
    emits,
    react: (reader, moment, { check }, rows) => {
      const bound = rows.filter(({ boundChecks }) => boundChecks.includes(check))
      return endOf(standingAt(reader, moment, bound))
    },
  }),
]
