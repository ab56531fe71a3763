/** Changes of roles of the token endpoints. */
import { Type } from 'typebox'
import { commandsByType, defineCommand, put, remove } from '../define.ts'
import type { DeleteNamedOutcome } from './commands.ts'
import { AclName, issuedTokensVersion } from './model.ts'
import { TokenRoleSpec, type TokenRoleRow } from './token-role-model.ts'
import { aclTokenRoles } from './table.ts'

export const storeTokenRole = defineCommand({
  type: 'acl.putTokenRole',
  since: issuedTokensVersion,
  args: TokenRoleSpec,
  load: (reader, { name }) => reader.get(aclTokenRoles, [name]),
  apply: ({ index }, args, before) => {
    const row: TokenRoleRow = {
      ...args,
      createIndex: before?.createIndex ?? index,
      modifyIndex: index,
    }
    return { changes: [put(aclTokenRoles, row)], outcome: { row } }
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
