/** What of this domain ends with a mount. Its secrets end with the domain that keeps them. */
import type { AnyReaction, Reacted, Table } from '../../fsm/domain.ts'
import { defineReaction } from '../../fsm/fact.ts'
import { mountGone } from '../acl/fact-model.ts'
import { removeRow } from '../define.ts'
import { ldapVersion } from './model.ts'
import { ldapConfigs, ldapGroups, ldapUsers } from './table.ts'

function endsRows<Row>(name: string, table: Table<Row>): AnyReaction {
  return defineReaction({
    name,
    sinceVersion: ldapVersion,
    on: mountGone,
    table,
    index: 'byMount',
    prefix: ({ mountId }) => [mountId],
    // A mount's id is drawn once, and the mount goes once.
    since: null,
    emits: [],
    react: (_reader, _moment, _mount, rows): Reacted => ({
      changes: rows.map((row) => removeRow(table, row)),
      happened: [],
    }),
  })
}

export const ldapReactions: readonly AnyReaction[] = [
  endsRows('ldap.configOfMount', ldapConfigs),
  endsRows('ldap.groupsOfMount', ldapGroups),
  endsRows('ldap.usersOfMount', ldapUsers),
]
