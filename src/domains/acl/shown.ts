/** Records as the API shows them, in the words that users of Consul and Nomad know. Also what filters may name. */
import { dateText } from '../../lib/date-text.ts'
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import type { PolicyRow, RoleRow, TokenRow } from './model.ts'

export type ShownToken = ReturnType<typeof shownToken>

const tokenFields = {
  AccessorID: 'string',
  Name: 'string',
  Description: 'string',
  Type: 'string',
  Policies: { list: 'string' },
  Roles: { list: { record: { ID: 'string', Name: 'string' } } },
  CreateTime: 'string',
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
} as const

/** Of roles too. */
const policyFields = {
  Name: 'string',
  Description: 'string',
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
} as const

/** Never with the secret: nobody has it any more. */
export function shownToken(row: TokenRow) {
  return {
    AccessorID: row.accessor,
    Name: row.name,
    Description: row.description,
    Type: row.type,
    Policies: row.policies,
    Roles: row.roles.map((name) => ({ ID: name, Name: name })),
    // Tokens are good on every server there is.
    Global: true,
    ...(row.boundCidrs !== undefined && { BoundCIDRs: row.boundCidrs }),
    CreateTime: dateText(row.createTimeMs),
    ...(row.expirationTimeMs !== null && { ExpirationTime: dateText(row.expirationTimeMs) }),
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

export function shownPolicy(row: PolicyRow) {
  return {
    Name: row.name,
    Description: row.description,
    Rules: row.rules,
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

/** In lists: without the text. */
export function shownPolicyStub({ name, description, createIndex, modifyIndex }: PolicyRow) {
  return {
    Name: name,
    Description: description,
    CreateIndex: createIndex,
    ModifyIndex: modifyIndex,
  }
}

export function shownRole(row: RoleRow) {
  return {
    ID: row.name,
    Name: row.name,
    Description: row.description,
    Policies: row.policies.map((name) => ({ Name: name })),
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

/** Of lists of tokens. */
export const tokenFilters = new FilterCompiler(tokenFields)
/** Of lists of policies and of roles. */
export const policyFilters = new FilterCompiler(policyFields)
