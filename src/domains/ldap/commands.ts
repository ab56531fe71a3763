/** Changes of configurations and of local mappings. A mount that has gone takes none. */
import { Type } from 'typebox'
import type { Reader, Table } from '../../fsm/domain.ts'
import { Count } from '../../fsm/row-schema.ts'
import { commandsByType, defineCommand, put, remove, TimeMs } from '../define.ts'
import { PolicyNames } from '../acl/model.ts'
import { MountId } from '../logins/model.ts'
import { mountStands } from '../logins/queries.ts'
import { SealedSecret } from '../logins/secrets-model.ts'
import { putSecret, removeSecret } from '../logins/secrets-table.ts'
import {
  bindpassOwner,
  clientKeyOwner,
  DirectoryConfig,
  ldapVersion,
  Name,
  NameKey,
  nextBindpassOwner,
  UserRow,
  type ConfigRow,
  type GroupRow,
} from './model.ts'
import { ldapConfigs, ldapGroups, ldapUsers } from './table.ts'

/** keep: as it is. none: there is none any more. */
const SecretChange = Type.Union([Type.Literal('keep'), Type.Literal('none'), SealedSecret])

/** changed: another request wrote the configuration since it was read. */
export type ConfigOutcome = 'written' | 'changed' | 'mountIsGone'

export const putConfig = defineCommand({
  type: 'ldap.putConfig',
  since: ldapVersion,
  args: Type.Object({
    mountId: MountId,
    config: DirectoryConfig,
    bindpass: SecretChange,
    clientKey: SecretChange,
    /** Of the row that `config` was made from; 0: there was none. */
    modifyIndex: Count,
    nowMs: TimeMs,
  }),
  load: (reader, { mountId }) => ({
    stands: mountStands(reader, mountId),
    before: reader.get(ldapConfigs, [mountId]),
  }),
  apply: ({ index }, args, { stands, before }) => {
    const { mountId, config, bindpass, clientKey, modifyIndex, nowMs } = args
    const written: ConfigOutcome = 'written'
    const refused = (outcome: ConfigOutcome) => ({ changes: [], outcome })
    if (!stands) return refused('mountIsGone')
    if ((before?.modifyIndex ?? 0) !== modifyIndex) return refused('changed')
    const has = (change: typeof bindpass, had: boolean | undefined): boolean =>
      change === 'keep' ? had === true : change !== 'none'
    // Another account, or a password that an operator knows to be right.
    const endsRotation =
      before === undefined || bindpass !== 'keep' || before.config.binddn !== config.binddn
    const row: ConfigRow = {
      mountId,
      config,
      hasBindpass: has(bindpass, before?.hasBindpass),
      hasClientKey: has(clientKey, before?.hasClientKey),
      pendingRotation: endsRotation ? null : before.pendingRotation,
      rotatedMs:
        before !== undefined && sameRotation(before.config, config) ? before.rotatedMs : nowMs,
      createIndex: before?.createIndex ?? index,
      modifyIndex: index,
    }
    const secret = (change: typeof bindpass, owner: string) =>
      change === 'keep' ? [] : [change === 'none' ? removeSecret(owner) : putSecret(change, index)]
    return {
      changes: [
        put(ldapConfigs, row),
        ...secret(bindpass, bindpassOwner(mountId)),
        ...secret(clientKey, clientKeyOwner(mountId)),
        ...(endsRotation ? [removeSecret(nextBindpassOwner(mountId))] : []),
      ],
      outcome: written,
    }
  },
})

function sameRotation(before: DirectoryConfig, now: DirectoryConfig): boolean {
  return (
    before.rotationPeriodMs === now.rotationPeriodMs &&
    before.rotationSchedule === now.rotationSchedule &&
    before.disableAutomatedRotation === now.disableAutomatedRotation
  )
}

/** Keeps the password that the directory is about to be asked to take. */
export const beginRotation = defineCommand({
  type: 'ldap.beginRotation',
  since: ldapVersion,
  args: Type.Object({ mountId: MountId, modifyIndex: Count, next: SealedSecret }),
  load: (reader, { mountId }) => reader.get(ldapConfigs, [mountId]),
  apply: ({ index }, { modifyIndex, next }, before) => {
    const fits = before?.modifyIndex === modifyIndex && before.pendingRotation === null
    if (!fits) return { changes: [], outcome: 'changed' as const }
    const row: ConfigRow = { ...before, pendingRotation: index, modifyIndex: index }
    return { changes: [put(ldapConfigs, row), putSecret(next, index)], outcome: 'begun' as const }
  },
})

/** The directory took the new password, which is the only one from now on; or it refused, and the old one is. */
export const endRotation = defineCommand({
  type: 'ldap.endRotation',
  since: ldapVersion,
  args: Type.Object({
    mountId: MountId,
    pendingRotation: Count,
    /** null: refused. */
    bindpass: Type.Union([Type.Null(), SealedSecret]),
    nowMs: TimeMs,
  }),
  load: (reader, { mountId }) => reader.get(ldapConfigs, [mountId]),
  apply: ({ index }, { mountId, pendingRotation, bindpass, nowMs }, before) => {
    if (before?.pendingRotation !== pendingRotation) {
      return { changes: [], outcome: 'changed' as const }
    }
    const rotatedMs = bindpass === null ? before.rotatedMs : nowMs
    const row: ConfigRow = { ...before, pendingRotation: null, rotatedMs, modifyIndex: index }
    return {
      changes: [
        put(ldapConfigs, row),
        removeSecret(nextBindpassOwner(mountId)),
        ...(bindpass === null ? [] : [putSecret(bindpass, index)]),
      ],
      outcome: 'ended' as const,
    }
  },
})

const Named = { mountId: MountId, key: NameKey }

function loadNamed<Row>(reader: Reader, table: Table<Row>, mountId: string, key: string) {
  return { stands: mountStands(reader, mountId), before: reader.get(table, [mountId, key]) }
}

/** Whether the mount still stands. */
export type MappingOutcome = { readonly stands: boolean }

export const putGroup = defineCommand({
  type: 'ldap.putGroup',
  since: ldapVersion,
  args: Type.Object({ ...Named, name: Name, policies: PolicyNames }),
  load: (reader, { mountId, key }) => loadNamed(reader, ldapGroups, mountId, key),
  apply: ({ index }, args, { stands, before }) => {
    const outcome: MappingOutcome = { stands }
    if (!stands) return { changes: [], outcome }
    const createIndex = before?.createIndex ?? index
    const row: GroupRow = { ...args, createIndex, modifyIndex: index }
    return { changes: [put(ldapGroups, row)], outcome }
  },
})

export const putUser = defineCommand({
  type: 'ldap.putUser',
  since: ldapVersion,
  args: Type.Object({
    ...Named,
    name: Name,
    policies: PolicyNames,
    groups: UserRow.properties.groups,
  }),
  load: (reader, { mountId, key }) => loadNamed(reader, ldapUsers, mountId, key),
  apply: ({ index }, args, { stands, before }) => {
    const outcome: MappingOutcome = { stands }
    if (!stands) return { changes: [], outcome }
    const createIndex = before?.createIndex ?? index
    const row: UserRow = { ...args, createIndex, modifyIndex: index }
    return { changes: [put(ldapUsers, row)], outcome }
  },
})

/** Also of what is not there. */
export const deleteGroup = defineCommand({
  type: 'ldap.deleteGroup',
  since: ldapVersion,
  args: Type.Object(Named),
  load: (reader, { mountId, key }) => reader.get(ldapGroups, [mountId, key]),
  apply: (_context, { mountId, key }, before) => ({
    changes: before === undefined ? [] : [remove(ldapGroups, [mountId, key])],
    outcome: null,
  }),
})

export const deleteUser = defineCommand({
  type: 'ldap.deleteUser',
  since: ldapVersion,
  args: Type.Object(Named),
  load: (reader, { mountId, key }) => reader.get(ldapUsers, [mountId, key]),
  apply: (_context, { mountId, key }, before) => ({
    changes: before === undefined ? [] : [remove(ldapUsers, [mountId, key])],
    outcome: null,
  }),
})

export const ldapCommands = commandsByType([
  putConfig,
  beginRotation,
  endRotation,
  putGroup,
  putUser,
  deleteGroup,
  deleteUser,
])
