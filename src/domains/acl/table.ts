/** Rows of access control. Tokens are found by hash on every request, by accessor when people name them. */
import type { Table } from '../../fsm/domain.ts'
import { BootstrapRow, endOf, PolicyRow, RoleRow, TokenParentRow, TokenRow } from './model.ts'
import { TokenRoleRow } from './token-role-model.ts'

export const aclTokens: Table<TokenRow> = {
  name: 'acl_tokens',
  row: TokenRow,
  key: (row) => [row.hash],
  indexes: {
    accessor: (row) => [row.accessor],
    expiration: (row) => {
      const endMs = endOf(row)
      return endMs === Infinity ? null : [endMs, row.hash]
    },
    byParent: ({ parent }) => (parent === undefined ? null : [parent]),
    byMount: ({ issuer }) => (issuer === undefined ? null : [issuer.mountId]),
  },
}

export const aclTokenParents: Table<TokenParentRow> = {
  name: 'acl_token_parents',
  row: TokenParentRow,
  key: (row) => [row.accessor],
}

export const aclPolicies: Table<PolicyRow> = {
  name: 'acl_policies',
  row: PolicyRow,
  key: (row) => [row.name],
}

export const aclRoles: Table<RoleRow> = {
  name: 'acl_roles',
  row: RoleRow,
  key: (row) => [row.name],
}

export const aclBootstraps: Table<BootstrapRow> = {
  name: 'acl_bootstrap',
  row: BootstrapRow,
  key: (row) => [row.id],
}

export const aclTokenRoles: Table<TokenRoleRow> = {
  name: 'acl_token_roles',
  row: TokenRoleRow,
  key: (row) => [row.name],
}
