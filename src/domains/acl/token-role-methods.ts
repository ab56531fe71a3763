/** What may be asked about roles of the token endpoints. */
import { Type, type Static } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'
import { MusterError } from '../../lib/errors.ts'
import { Page } from '../../rpc/list.ts'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import { pageOfNames } from '../../rpc/name-list.ts'
import { entitiesVersion } from '../entities/model.ts'
import { AclName, comparedWritesVersion } from './model.ts'
import { assertAclEnabled } from './services.ts'
import { aclTokenRoles } from './table.ts'
import { removeTokenRole, storeTokenRole } from './token-role-commands.ts'
import {
  checkTokenRole,
  newTokenRole,
  TokenRoleSpec,
  type TokenRoleRow,
} from './token-role-model.ts'

const read = defineQuery({
  kind: 'query',
  name: 'acl.tokenRole',
  args: Type.Object({ name: AclName }),
  requires: ({ name }) => ({ resource: 'auth', path: `token/roles/${name}`, access: 'read' }),
  query: (reader, { name }, context) => {
    assertAclEnabled(context)
    const row = reader.get(aclTokenRoles, [name])
    return { value: row ?? null, index: row?.modifyIndex ?? reader.tableIndex(aclTokenRoles) }
  },
})

const list = defineQuery({
  kind: 'query',
  name: 'acl.tokenRoles',
  args: Type.Object(Page),
  requires: () => ({ resource: 'auth', path: 'token/roles', access: 'list' }),
  query: async (reader, args, context) => {
    assertAclEnabled(context)
    const value = await pageOfNames(context, args, {
      pages: reader.pages(aclTokenRoles, { startsWith: args.prefix }),
      keyOf: aclTokenRoles.key,
      nameOf: ({ name }) => name,
    })
    return { value, index: reader.tableIndex(aclTokenRoles) }
  },
})

const { name: _name, ...members } = TokenRoleSpec.properties
export const TokenRoleChanges = Type.Partial(Type.Object(members))
export type TokenRoleChanges = Static<typeof TokenRoleChanges>

/** Of one write, each after another write of the same role. */
const attemptsMax = 16

/** What is left out stays as it is. */
const put = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'acl.putTokenRole',
  args: Type.Object({ name: AclName, changes: TokenRoleChanges }),
  requires: ({ name }) => ({ resource: 'auth', path: `token/roles/${name}`, access: 'write' }),
  run: async (context, { name, changes }): Promise<{ readonly index: number }> => {
    assertAclEnabled(context)
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const reader = context.read()
      const before = reader.get(aclTokenRoles, [name])
      const role: TokenRoleSpec = { ...(specOf(before) ?? newTokenRole(name)), ...changes }
      checkTokenRole(role)
      if (role.allowedEntityAliases !== undefined) assertEntities(reader)
      const { index, outcome } = await context.propose(storeTokenRole, {
        ...role,
        ...(reader.commandVersion >= comparedWritesVersion && {
          seenIndex: before?.modifyIndex ?? 0,
        }),
      })
      if (outcome.type === 'written') return { index }
    }
    throw new MusterError('overloaded', 'others write the same role all the time')
  },
})

/** Servers of before cannot read a role with aliases. */
function assertEntities({ commandVersion }: Pick<Reader, 'commandVersion'>): void {
  if (commandVersion >= entitiesVersion) return
  throw new MusterError(
    'not_implemented',
    `allowed_entity_aliases needs every server at command version ${entitiesVersion}; the cluster runs at ${commandVersion}`,
  )
}

function specOf(row: TokenRoleRow | undefined): TokenRoleSpec | null {
  if (row === undefined) return null
  const { createIndex: _made, modifyIndex: _changed, ...spec } = row
  return spec
}

/** Also of one that is not there. */
const remove = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'acl.deleteTokenRole',
  args: Type.Object({ name: AclName }),
  requires: ({ name }) => ({ resource: 'auth', path: `token/roles/${name}`, access: 'delete' }),
  run: async (context, { name }): Promise<{ readonly index: number }> => {
    assertAclEnabled(context)
    const { index } = await context.propose(removeTokenRole, { name })
    return { index }
  },
})

export const tokenRoleMethods = { read, list, put, remove }
