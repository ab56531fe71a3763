/** Reads of keys: one, and what stands below a prefix with the index that a reader of it waits on. */
import type { Range, Reader } from '../../fsm/domain.ts'
import { firstOf } from '../define.ts'
import { isDelayOver, reapedRowsMax, type ReapKeys } from './commands.ts'
import { deletionMarksMax, type DeletionMarkRow, type KeyPlace, type KvRow } from './model.ts'
import { findIn } from './held-queries.ts'
import { evaluate, judgedAt, loadOperations, valueApart } from './operation-commands.ts'
import type { Operation, OperationsOutcome, ShownEntry } from './operation-model.ts'
import { deletionMarks, keys, lockDelays, lockMarks, tombstones } from './table.ts'

/** The index to block on: the key's own, or the whole store's while there is none. */
export function keyOf(
  reader: Reader,
  { namespace, key }: KeyPlace,
): { readonly value: ShownEntry | null; readonly index: number } {
  const stored = reader.get(keys, [namespace, key])
  const row = stored === undefined ? null : findIn(reader)(stored).row
  if (row === null) return { value: null, index: storeIndex(reader) }
  return { value: withValue(reader, row), index: indexOf(reader, row) }
}

/** A row restored from another cluster's archive may be ahead of this log: its next change would then seem older. */
export function indexOf(reader: Reader, { modifyIndex }: Pick<KvRow, 'modifyIndex'>): number {
  return Math.min(modifyIndex, reader.appliedIndex)
}

export function withValue(reader: Reader, row: KvRow): ShownEntry {
  return { row, value: row.value ?? valueApart(reader, row) }
}

function rangeOf({ namespace, key }: KeyPlace): Range {
  return { prefix: [namespace], startsWith: key }
}

/** In the order of their UTF-8 bytes. */
export function keysBelow(reader: Reader, place: KeyPlace): AsyncIterable<readonly KvRow[]> {
  return reader.pages(keys, rangeOf(place))
}

/** Of the last change of any key. */
export function storeIndex(reader: Reader): number {
  return reader.tableIndex(keys)
}

/** Operations that change nothing. */
export async function evaluateReads(
  reader: Reader,
  operations: readonly Operation[],
): Promise<OperationsOutcome> {
  const loaded = await loadOperations(reader, operations)
  return evaluate(judgedAt(reader.appliedIndex, { nowMs: 0 }), operations, loaded).outcome
}

/** Whether `kv.reap` with the same arguments would remove anything. */
export async function hasLeftovers(reader: Reader, args: ReapKeys): Promise<boolean> {
  for (const table of [tombstones, lockMarks]) {
    const mark = await firstOf(reader.pagesBy(table, 'byTime'))
    if (mark !== null && mark.timeMs < args.tombstonesBeforeMs) return true
  }
  const delay = await firstOf(reader.pagesBy(lockDelays, 'byTime'))
  return delay !== null && isDelayOver(reader, args)(delay)
}

/** Marks of directories that may go because there are too many: of before a time, as many as one entry removes. */
export async function marksBeyondMax(
  reader: Reader,
  beforeMs: number,
): Promise<readonly DeletionMarkRow[]> {
  const old: DeletionMarkRow[] = []
  let count = 0
  for await (const page of reader.pages(deletionMarks)) {
    count += page.length
    for (const row of page) {
      if (row.timeMs < beforeMs && old.length < reapedRowsMax) old.push(row)
    }
  }
  return old.slice(0, Math.max(0, count - deletionMarksMax))
}
