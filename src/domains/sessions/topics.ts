/** What readers of events are told of sessions. A renewal is no change. */
import type { Reader } from '../../fsm/domain.ts'
import type { LeastRight, Requirement } from '../../rpc/method.ts'
import { endingsIn } from './ended-queries.ts'
import type { SessionRow } from './model.ts'
import { shownSession } from './shown.ts'
import { sessions } from './table.ts'

/** Without these, to whatever it be, a caller is shown nothing. */
export const leastForSessions: readonly LeastRight[] = [{ resource: 'session', access: 'read' }]

export const sessionTopic = {
  name: 'Session',
  least: leastForSessions,
  table: sessions,
  types: { written: 'SessionCreated', removed: 'SessionEnded' },
  requires: null,
  inKeyOrder: false,
  shown: (reader: Reader) => {
    const endedAt = endingsIn(reader)
    return (row: SessionRow) => (endedAt(row) === null ? row : null)
  },
  describe: (row: SessionRow) => {
    const { namespace, node } = row
    const reads: Requirement = { resource: 'session', namespace, node, access: 'read' }
    return {
      key: row.id,
      namespace,
      filterKeys: [node],
      modifyIndex: row.createIndex,
      payload: { Session: shownSession(row) },
      requires: [reads],
    }
  },
}
