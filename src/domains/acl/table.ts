/** Rows of access control. Tokens are found by hash on every request, by accessor when people name them. */
import type { Table } from '../../fsm/domain.ts'
import type { BootstrapRow, PolicyRow, RoleRow, TokenRow } from './model.ts'

export const aclTokens: Table<TokenRow> = {
  name: 'acl_tokens',
  key: (row) => [row.hash],
  indexes: {
    accessor: (row) => [row.accessor],
    expiration: (row) => (row.expirationTimeMs === null ? null : [row.expirationTimeMs, row.hash]),
  },
}

export const aclPolicies: Table<PolicyRow> = { name: 'acl_policies', key: (row) => [row.name] }

export const aclRoles: Table<RoleRow> = { name: 'acl_roles', key: (row) => [row.name] }

export const aclBootstraps: Table<BootstrapRow> = { name: 'acl_bootstrap', key: (row) => [row.id] }
