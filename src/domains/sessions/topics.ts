/** What readers of events are told of sessions. A renewal is no change. */
import type { Requirement } from '../../rpc/method.ts'
import type { SessionRow } from './model.ts'
import { shownSession } from './shown.ts'
import { sessions } from './table.ts'

export const sessionTopic = {
  name: 'Session',
  table: sessions,
  types: { written: 'SessionCreated', removed: 'SessionEnded' },
  requires: null,
  inKeyOrder: false,
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
