/** What readers of events are told of variables: that they changed, never what is in them. */
import type { LeastRight, Requirement } from '../../rpc/method.ts'
import type { VariableRow } from './model.ts'
import { variables } from './table.ts'

const nanosecondsPerMs = 1e6

/** Without these, to whatever it be, a caller is shown nothing. */
export const leastForVariables: readonly LeastRight[] = [{ resource: 'variables', access: 'list' }]

export const variableTopic = {
  name: 'Variable',
  least: leastForVariables,
  table: variables,
  types: { written: 'VariableUpserted', removed: 'VariableDeleted' },
  requires: null,
  inKeyOrder: true,
  describe: (row: VariableRow) => {
    const { namespace, path, createIndex, modifyIndex } = row
    const lists: Requirement = { resource: 'variables', namespace, path, access: 'list' }
    return {
      key: path,
      namespace,
      filterKeys: [],
      modifyIndex,
      payload: {
        Variable: {
          Namespace: namespace,
          Path: path,
          CreateIndex: createIndex,
          CreateTime: row.createTimeMs * nanosecondsPerMs,
          ModifyIndex: modifyIndex,
          ModifyTime: row.modifyTimeMs * nanosecondsPerMs,
        },
      },
      requires: [lists],
    }
  },
}
