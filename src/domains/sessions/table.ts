/** Rows of sessions, by namespace and id. Written at their creation and their end, so that an index of either is the table's. */
import type { Table } from '../../fsm/domain.ts'
import { keyOfName } from '../catalog/model.ts'
import { SessionRow } from './model.ts'

export const sessions: Table<SessionRow> = {
  name: 'sessions',
  row: SessionRow,
  key: (row) => [row.namespace, row.id],
  indexes: {
    /** Names of nodes match in any letter case. */
    byNode: (row) => [keyOfName(row.node)],
    /** Of tokens that are stored nowhere: with a login method that is disabled. */
    byMount: (row) => (row.tokenMountId === undefined ? null : [row.tokenMountId]),
    byToken: (row) => (row.token === null ? null : [row.token]),
  },
}
