/** What ends with a mount: its configuration and its roles. The reviewer's token ends with all secrets of the mount. */
import type { AnyReaction, Reacted, Table } from '../../fsm/domain.ts'
import { defineReaction } from '../../fsm/fact.ts'
import { mountGone } from '../acl/fact-model.ts'
import { removeRow } from '../define.ts'
import { orchestratorVersion } from './model.ts'
import { orchestratorConfigs, orchestratorRoles } from './table.ts'

function endsRows<Row>(name: string, table: Table<Row>): AnyReaction {
  return defineReaction({
    name,
    sinceVersion: orchestratorVersion,
    on: mountGone,
    table,
    index: 'byMount',
    prefix: ({ mountId }) => [mountId],
    // The id of a mount is drawn once and goes once.
    since: null,
    emits: [],
    react: (_reader, _moment, _payload, rows): Reacted => ({
      changes: rows.map((row) => removeRow(table, row)),
      happened: [],
    }),
  })
}

export const orchestratorReactions: readonly AnyReaction[] = [
  endsRows('orchestrator.configOfMount', orchestratorConfigs),
  endsRows('orchestrator.rolesOfMount', orchestratorRoles),
]
