/** What ends with a mount: its configuration and its roles. The reviewer's token ends with all secrets of the mount. */
import type { AnyReaction } from '../../fsm/domain.ts'
import { endsWithMount } from '../logins/mount-rows-commands.ts'
import { orchestratorVersion } from './model.ts'
import { orchestratorConfigs, orchestratorRoles } from './table.ts'

export const orchestratorReactions: readonly AnyReaction[] = [
  endsWithMount('orchestrator.configOfMount', orchestratorConfigs, orchestratorVersion),
  endsWithMount('orchestrator.rolesOfMount', orchestratorRoles, orchestratorVersion),
]
