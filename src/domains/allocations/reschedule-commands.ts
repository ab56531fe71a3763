/** Failed allocations that an operator wants placed anew at once. Their job is looked at by an entry of its own. */
import { Type } from 'typebox'
import type { Applied } from '../../fsm/domain.ts'
import { defineCommand, replace } from '../define.ts'
import { operatorOptionsVersion, RowId } from '../evaluations/model.ts'
import { mayBeRescheduled } from './model.ts'
import { allocationById } from './queries.ts'
import { allocations } from './table.ts'

export const rescheduledAtOnceMax = 256

export const rescheduleAllocations = defineCommand({
  type: 'allocations.reschedule',
  since: operatorOptionsVersion,
  args: Type.Object({ ids: Type.Array(RowId, { maxItems: rescheduledAtOnceMax }) }),
  load: (reader, { ids }) =>
    [...new Set(ids)].flatMap((id) => {
      const row = allocationById(reader, id)
      return row !== null && mayBeRescheduled(row) ? [row] : []
    }),
  // Times stay: they say when it failed.
  apply: ({ index }, _args, rows): Applied<null> => ({
    changes: rows.map((row) =>
      replace(allocations, row, { ...row, rescheduleNow: true, modifyIndex: index }),
    ),
    outcome: null,
  }),
})
