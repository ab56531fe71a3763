/** Changes of configurations and roles. A mount that has gone takes none. */
import { Type } from 'typebox'
import { Count } from '../../fsm/row-schema.ts'
import { commandsByType, defineCommand, put, removeRow } from '../define.ts'
import { MountId } from '../logins/model.ts'
import { mountStands } from '../logins/queries.ts'
import { SealedSecret } from '../logins/secrets-model.ts'
import { putSecret, removeSecret } from '../logins/secrets-table.ts'
import {
  Config,
  orchestratorVersion,
  reviewerOwner,
  Role,
  RoleName,
  type ConfigRow,
  type RoleRow,
} from './model.ts'
import { orchestratorConfigs, orchestratorRoles } from './table.ts'

export type ConfigOutcome = 'written' | 'mountIsGone'

/** Takes the place of the whole configuration, the reviewer's token included. */
export const putConfig = defineCommand({
  type: 'orchestrator.putConfig',
  since: orchestratorVersion,
  args: Type.Object({
    mountId: MountId,
    config: Config,
    reviewer: Type.Union([Type.Null(), SealedSecret]),
  }),
  load: (reader, { mountId }) => ({
    stands: mountStands(reader, mountId),
    before: reader.get(orchestratorConfigs, [mountId]),
  }),
  apply: ({ index }, { mountId, config, reviewer }, { stands, before }) => {
    const ended = (outcome: ConfigOutcome) => ({ changes: [], outcome })
    if (!stands) return ended('mountIsGone')
    const row: ConfigRow = {
      mountId,
      config,
      hasReviewer: reviewer !== null,
      createIndex: before?.createIndex ?? index,
      modifyIndex: index,
    }
    const secret =
      reviewer === null ? removeSecret(reviewerOwner(mountId)) : putSecret(reviewer, index)
    return { ...ended('written'), changes: [put(orchestratorConfigs, row), secret] }
  },
})

/** changed: another request wrote the role since it was read. */
export type RoleOutcome = 'written' | 'changed' | 'mountIsGone'

export const putRole = defineCommand({
  type: 'orchestrator.putRole',
  since: orchestratorVersion,
  args: Type.Object({
    mountId: MountId,
    name: RoleName,
    role: Role,
    /** Of the row that `role` was made from; 0: there was none. */
    modifyIndex: Count,
  }),
  load: (reader, { mountId, name }) => ({
    stands: mountStands(reader, mountId),
    before: reader.get(orchestratorRoles, [mountId, name]),
  }),
  apply: ({ index }, { mountId, name, role, modifyIndex }, { stands, before }) => {
    const ended = (outcome: RoleOutcome) => ({ changes: [], outcome })
    if (!stands) return ended('mountIsGone')
    if ((before?.modifyIndex ?? 0) !== modifyIndex) return ended('changed')
    const createIndex = before?.createIndex ?? index
    const row: RoleRow = { mountId, name, role, createIndex, modifyIndex: index }
    return { ...ended('written'), changes: [put(orchestratorRoles, row)] }
  },
})

/** Also of what is not there. */
export const deleteRole = defineCommand({
  type: 'orchestrator.deleteRole',
  since: orchestratorVersion,
  args: Type.Object({ mountId: MountId, name: RoleName }),
  load: (reader, { mountId, name }) => reader.get(orchestratorRoles, [mountId, name]),
  apply: (_context, _args, before) => ({
    changes: before === undefined ? [] : [removeRow(orchestratorRoles, before)],
    outcome: null,
  }),
})

export const orchestratorCommands = commandsByType([putConfig, putRole, deleteRole])
