/** Rows of mounts and of locked names. Mounts that are there from the start have no row until they are changed: see `queries.ts`. */
import type { Table } from '../../fsm/domain.ts'
import { LockRow } from './lock-model.ts'
import { MountRow } from './model.ts'

export const mountRows: Table<MountRow> = {
  name: 'login_mounts',
  row: MountRow,
  key: (row) => [row.id],
}

export const lockRows: Table<LockRow> = {
  name: 'login_locks',
  row: LockRow,
  key: (row) => [row.mountId, row.name],
  indexes: {
    byMount: ({ mountId }) => [mountId],
    byEnd: ({ untilMs, mountId, name }) => [untilMs, mountId, name],
  },
}
