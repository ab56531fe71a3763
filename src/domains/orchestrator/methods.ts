/** What may be asked about the configuration and the roles of an orchestrator mount. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { Page } from '../../rpc/list.ts'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import { At, belowMount, mountIsGone, namesBelow } from '../logins/at-mount.ts'
import { mountTtls } from '../logins/model.ts'
import { mountOf } from '../logins/queries.ts'
import { sealSecret } from '../logins/secrets.ts'
import { deleteRole, putConfig, putRole } from './commands.ts'
import { checkConfig } from './config-check.ts'
import {
  changedRole,
  Config,
  reviewerOwner,
  RoleChange,
  RoleName,
  roleWarnings,
  type ConfigRow,
  type RoleRow,
} from './model.ts'
import { configOf, roleOf } from './queries.ts'
import { podFiles } from './services.ts'
import { orchestratorConfigs, orchestratorRoles } from './table.ts'

/** How often a write is tried while others write the same role. */
const attemptsMax = 8

const ofConfig = () => 'config'
const ofRole = ({ name }: { name: string }) => `role/${name}`

const readConfig = defineQuery({
  kind: 'query',
  name: 'orchestrator.readConfig',
  args: Type.Object({ at: At }),
  requires: belowMount('read', ofConfig),
  query: (reader, { at }) => {
    const value: ConfigRow | null = configOf(reader, at.id)
    return { value, index: value?.modifyIndex ?? reader.tableIndex(orchestratorConfigs) }
  },
})

/** As it was sent: `checkConfig` says what is wrong with it. */
const SentConfig = Type.Object({
  ...Config.properties,
  host: Type.String(),
  authorities: Type.String(),
  pemKeys: Type.Immutable(Type.Array(Type.String())),
  issuer: Type.String(),
})

const writeConfig = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'orchestrator.writeConfig',
  args: Type.Object({
    at: At,
    config: SentConfig,
    /** '': none. */
    reviewer: Type.String(),
  }),
  requires: belowMount('write', ofConfig),
  run: async (context, { at, config, reviewer }): Promise<null> => {
    checkConfig(config, reviewer, await context.service(podFiles).exist())
    const sealed =
      reviewer === '' ? null : await sealSecret(context, reviewerOwner(at.id), reviewer)
    const { outcome } = await context.propose(putConfig, {
      mountId: at.id,
      config,
      reviewer: sealed,
    })
    if (outcome === 'mountIsGone') throw mountIsGone()
    return null
  },
})

const readRole = defineQuery({
  kind: 'query',
  name: 'orchestrator.readRole',
  args: Type.Object({ at: At, name: RoleName }),
  requires: belowMount('read', ofRole),
  query: (reader, { at, name }) => {
    const value: RoleRow | null = roleOf(reader, at.id, name)
    return { value, index: value?.modifyIndex ?? reader.tableIndex(orchestratorRoles) }
  },
})

const listRoles = defineQuery({
  kind: 'query',
  name: 'orchestrator.listRoles',
  long: true,
  args: Type.Object({ ...Page, at: At }),
  requires: belowMount('list', () => 'role'),
  query: async (reader, args, context) => ({
    value: await namesBelow(reader, orchestratorRoles, args, context),
    index: reader.tableIndex(orchestratorRoles),
  }),
})

const writeRole = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'orchestrator.writeRole',
  args: Type.Object({ at: At, name: RoleName, change: RoleChange }),
  requires: belowMount('write', ofRole),
  run: async (context, { at, name, change }): Promise<{ warnings: readonly string[] }> => {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const reader = context.read()
      const mount = mountOf(reader, at.id)
      if (mount === null) throw mountIsGone()
      const before = roleOf(reader, at.id, name)
      const role = changedRole(before?.role ?? null, change, mountTtls(mount).maxTtlMs)
      const { outcome } = await context.propose(putRole, {
        mountId: at.id,
        name,
        role,
        modifyIndex: before?.modifyIndex ?? 0,
      })
      if (outcome === 'mountIsGone') throw mountIsGone()
      if (outcome === 'written') return { warnings: roleWarnings(role) }
    }
    throw new MusterError('overloaded', 'others write the same role all the time')
  },
})

const removeRole = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'orchestrator.deleteRole',
  args: Type.Object({ at: At, name: RoleName }),
  requires: belowMount('delete', ofRole),
  run: async (context, { at, name }): Promise<null> => {
    await context.propose(deleteRole, { mountId: at.id, name })
    return null
  },
})

export const orchestratorMethods = {
  readConfig,
  writeConfig,
  readRole,
  listRoles,
  writeRole,
  removeRole,
}
