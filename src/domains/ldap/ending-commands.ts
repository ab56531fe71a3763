/** What of this domain ends with a mount. Its secrets end with the domain that keeps them. */
import type { AnyReaction } from '../../fsm/domain.ts'
import { endsWithMount } from '../logins/mount-rows-commands.ts'
import { ldapVersion } from './model.ts'
import { ldapConfigs, ldapGroups, ldapUsers } from './table.ts'

export const ldapReactions: readonly AnyReaction[] = [
  endsWithMount('ldap.configOfMount', ldapConfigs, ldapVersion),
  endsWithMount('ldap.groupsOfMount', ldapGroups, ldapVersion),
  endsWithMount('ldap.usersOfMount', ldapUsers, ldapVersion),
]
