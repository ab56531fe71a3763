/** What readers of events are told of keys: their values too, as far as those are short enough to stand with the key. */
import type { Reader } from '../../fsm/domain.ts'
import type { LeastRight, Requirement } from '../../rpc/method.ts'
import { findIn } from './held-queries.ts'
import type { KvRow } from './model.ts'
import { shownEntry } from './shown-entry.ts'
import { keys } from './table.ts'

/** Without these, to whatever it be, a caller is shown nothing. */
export const leastForKeys: readonly LeastRight[] = [{ resource: 'key', access: 'read' }]

export const kvTopic = {
  name: 'KV',
  least: leastForKeys,
  table: keys,
  types: { written: 'KVUpserted', removed: 'KVDeleted' },
  requires: null,
  inKeyOrder: true,
  shown: (reader: Reader) => {
    const find = findIn(reader)
    return (row: KvRow) => find(row).row
  },
  describe: (row: KvRow) => {
    const { namespace, key, size } = row
    const reads: Requirement = { resource: 'key', namespace, key, access: 'read' }
    return {
      key,
      namespace,
      filterKeys: [],
      modifyIndex: row.modifyIndex,
      // A value that is null and has a size is to be read where it is.
      payload: { KV: { ...shownEntry({ row, value: row.value }), Size: size } },
      requires: [reads],
    }
  },
}
