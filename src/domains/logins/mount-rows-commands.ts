/** Rows that belong to a mount and end with it, of this domain and of those of the login methods. */
import type { AnyReaction, Reacted, Table } from '../../fsm/domain.ts'
import { defineReaction } from '../../fsm/fact.ts'
import { mountGone } from '../acl/fact-model.ts'
import { removeRow } from '../define.ts'

/** `table` has an index `byMount`. `sinceVersion`: of the first rows that it held. */
export function endsWithMount<Row>(
  name: string,
  table: Table<Row>,
  sinceVersion: number,
): AnyReaction {
  return defineReaction({
    name,
    sinceVersion,
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
