/** Rows of mounts. Those that are there from the start have none until they are changed: `queries.ts` knows both. */
import type { Table } from '../../fsm/domain.ts'
import { MountRow } from './model.ts'

export const mountRows: Table<MountRow> = {
  name: 'login_mounts',
  row: MountRow,
  key: (row) => [row.id],
}
