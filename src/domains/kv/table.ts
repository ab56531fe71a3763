/** Rows of keys, of values too long to stand in them, of what deletions leave behind, and of lock delays. */
import type { Table } from '../../fsm/domain.ts'
import {
  DeletionMarkRow,
  KvRow,
  KvValueRow,
  LockDelayRow,
  ReapedRow,
  TombstoneRow,
} from './model.ts'

export const keys: Table<KvRow> = {
  name: 'kv',
  row: KvRow,
  key: (row) => [row.namespace, row.key],
  counter: (row) => row.lockIndex,
  indexes: {
    /** What a session holds. */
    bySession: (row) => (row.session === null ? null : [row.session]),
  },
}

export const kvValues: Table<KvValueRow> = {
  name: 'kv_values',
  row: KvValueRow,
  key: (row) => [row.namespace, row.key],
}

/** A mark for each deleted key, of clusters with older servers. */
export const tombstones: Table<TombstoneRow> = {
  name: 'kv_tombstones',
  row: TombstoneRow,
  key: (row) => [row.namespace, row.key],
  counter: (row) => row.lockIndex,
  indexes: { byTime: (row) => [row.timeMs] },
}

/** The LockIndex of a deleted key, see `deletion-queries.ts`. */
export const lockMarks: Table<TombstoneRow> = { ...tombstones, name: 'kv_lock_marks' }

export const deletionMarks: Table<DeletionMarkRow> = {
  name: 'kv_deletion_marks',
  row: DeletionMarkRow,
  key: (row) => [row.namespace, row.scope, row.directory],
}

export const reaped: Table<ReapedRow> = {
  name: 'kv_reaped',
  row: ReapedRow,
  key: (row) => [row.namespace],
  counter: (row) => row.lockIndex ?? 0,
}

export const lockDelays: Table<LockDelayRow> = {
  name: 'kv_lock_delays',
  row: LockDelayRow,
  key: (row) => [row.namespace, row.key],
  indexes: { byTime: (row) => [row.untilMs] },
}
