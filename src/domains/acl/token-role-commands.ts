/** Changes of roles of the token endpoints. */
import { Type } from 'typebox'
import { Count } from '../../fsm/row-schema.ts'
import type { Change } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, put, remove } from '../define.ts'
import type { DeleteNamedOutcome } from './commands.ts'
import { AclName, issuedTokensVersion } from './model.ts'
import { TokenRoleSpec, type TokenRoleRow } from './token-role-model.ts'
import { aclTokenRoles } from './table.ts'

const PutTokenRole = Type.Object({
  ...TokenRoleSpec.properties,
  /** Of the row that the role was made from; 0: there was none. Absent below `comparedWritesVersion`: whatever it is now. */
  seenIndex: Type.Optional(Count),
})

/** changed: another request wrote the role since it was read. */
export type PutTokenRoleOutcome =
  | { readonly type: 'written'; readonly row: TokenRoleRow }
  | { readonly type: 'changed' }

export const storeTokenRole = defineCommand({
  type: 'acl.putTokenRole',
  since: issuedTokensVersion,
  args: PutTokenRole,
  load: (reader, { name }) => reader.get(aclTokenRoles, [name]),
  apply: ({ index }, { seenIndex, ...spec }, before) => {
    const answer = (changes: readonly Change[], outcome: PutTokenRoleOutcome) => ({
      changes,
      outcome,
    })
    if (seenIndex !== undefined && (before?.modifyIndex ?? 0) !== seenIndex) {
      return answer([], { type: 'changed' })
    }
    const row: TokenRoleRow = {
      ...spec,
      createIndex: before?.createIndex ?? index,
      modifyIndex: index,
    }
    return answer([put(aclTokenRoles, row)], { type: 'written', row })
  },
})

export const removeTokenRole = defineCommand({
  type: 'acl.deleteTokenRole',
  since: issuedTokensVersion,
  args: Type.Object({ name: AclName }),
  load: (reader, { name }) => reader.get(aclTokenRoles, [name]),
  apply: (_context, { name }, before) => {
    const outcome: DeleteNamedOutcome = { existed: before !== undefined }
    return { changes: before === undefined ? [] : [remove(aclTokenRoles, [name])], outcome }
  },
})

export const tokenRoleCommands = commandsByType([storeTokenRole, removeTokenRole])
