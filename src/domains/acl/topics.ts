/** What readers of events are told of access control: only those who may read all of it, and no secret. */
import type { Reader } from '../../fsm/domain.ts'
import type { LeastRight, Requirement } from '../../rpc/method.ts'
import { isGone } from './gone-queries.ts'
import type { PolicyRow, RoleRow, TokenRow } from './model.ts'
import { shownPolicy, shownRole, shownToken } from './shown.ts'
import { aclPolicies, aclRoles, aclTokens } from './table.ts'

const reads: Requirement = { resource: 'acl', access: 'read' }
const least: readonly LeastRight[] = [{ resource: 'acl', access: 'read' }]
const common = { requires: reads, least, inKeyOrder: false }

function described(key: string, row: { readonly modifyIndex: number }, payload: object) {
  const { modifyIndex } = row
  return { key, namespace: '', filterKeys: [], modifyIndex, payload, requires: [reads] }
}

export const tokenTopic = {
  ...common,
  name: 'ACLToken',
  table: aclTokens,
  types: { written: 'ACLTokenUpserted', removed: 'ACLTokenDeleted' },
  shown: (reader: Reader) => (row: TokenRow) => (isGone(reader, row) ? null : row),
  describe: (row: TokenRow) => described(row.accessor, row, { ACLToken: shownToken(row) }),
}

export const policyTopic = {
  ...common,
  name: 'ACLPolicy',
  table: aclPolicies,
  types: { written: 'ACLPolicyUpserted', removed: 'ACLPolicyDeleted' },
  describe: (row: PolicyRow) => described(row.name, row, { ACLPolicy: shownPolicy(row) }),
}

export const roleTopic = {
  ...common,
  name: 'ACLRole',
  table: aclRoles,
  types: { written: 'ACLRoleUpserted', removed: 'ACLRoleDeleted' },
  describe: (row: RoleRow) => described(row.name, row, { ACLRole: shownRole(row) }),
}
