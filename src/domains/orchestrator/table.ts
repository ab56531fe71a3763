/** Rows of the orchestrator method, by mount. */
import type { Table } from '../../fsm/domain.ts'
import { ConfigRow, RoleRow } from './model.ts'

/** One of each mount that was configured. */
export const orchestratorConfigs: Table<ConfigRow> = {
  name: 'orchestrator_configs',
  row: ConfigRow,
  key: (row) => [row.mountId],
  indexes: { byMount: (row) => [row.mountId] },
}

export const orchestratorRoles: Table<RoleRow> = {
  name: 'orchestrator_roles',
  row: RoleRow,
  key: (row) => [row.mountId, row.name],
  indexes: { byMount: (row) => [row.mountId] },
}
