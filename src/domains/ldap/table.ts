/** Rows of the directory login method, by mount. */
import type { Table } from '../../fsm/domain.ts'
import { ConfigRow, GroupRow, UserRow } from './model.ts'

/** One of each mount that was configured. */
export const ldapConfigs: Table<ConfigRow> = {
  name: 'ldap_configs',
  row: ConfigRow,
  key: (row) => [row.mountId],
  indexes: { byMount: (row) => [row.mountId] },
}

export const ldapGroups: Table<GroupRow> = {
  name: 'ldap_groups',
  row: GroupRow,
  key: (row) => [row.mountId, row.key],
  indexes: { byMount: (row) => [row.mountId] },
}

export const ldapUsers: Table<UserRow> = {
  name: 'ldap_users',
  row: UserRow,
  key: (row) => [row.mountId, row.key],
  indexes: { byMount: (row) => [row.mountId] },
}
