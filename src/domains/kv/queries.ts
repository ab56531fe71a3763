/** Reads of keys: one, and what stands below a prefix with the index that a reader of it waits on. */
import type { Range, Reader } from '../../fsm/domain.ts'
import { firstOf } from '../define.ts'
import type { ReapKeys } from './commands.ts'
import type { KeyPlace, KvRow } from './model.ts'
import { standing } from './fence-queries.ts'
import { evaluate, loadOperations, valueApart } from './operation-commands.ts'
import type { Operation, OperationsOutcome, ShownEntry } from './operation-model.ts'
import { keys, lockDelays, reaped, tombstones } from './table.ts'

/** The index to block on: the key's own, or the whole store's while there is none. */
export function keyOf(
  reader: Reader,
  { namespace, key }: KeyPlace,
): { readonly value: ShownEntry | null; readonly index: number } {
  const row = reader.get(keys, [namespace, key])
  if (row === undefined) return { value: null, index: storeIndex(reader) }
  return { value: withValue(reader, standing(reader, row)), index: indexOf(reader, row) }
}

/** A row restored from another cluster's archive may be ahead of this log: its next change would then seem older. */
export function indexOf(reader: Reader, { modifyIndex }: KvRow): number {
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

/**
 * The highest index of a deletion below a prefix, 0 for none. Once the marks of deletions are removed the highest
 * among those stands for all of the namespace, so that no index falls.
 */
export async function deletionIndex(reader: Reader, place: KeyPlace): Promise<number> {
  let highest = reader.get(reaped, [place.namespace])?.index ?? 0
  for await (const page of reader.pages(tombstones, rangeOf(place))) {
    for (const { index } of page) highest = Math.max(highest, index)
  }
  return Math.min(highest, reader.appliedIndex)
}

/** Until when the key can not be locked, by the leader's wall clock; 0 when nothing holds it back. */
export function lockDelayUntilMs(reader: Reader, { namespace, key }: KeyPlace): number {
  return reader.get(lockDelays, [namespace, key])?.untilMs ?? 0
}

/** Operations that change nothing. */
export async function evaluateReads(
  reader: Reader,
  operations: readonly Operation[],
): Promise<OperationsOutcome> {
  const loaded = await loadOperations(reader, operations)
  return evaluate({ index: reader.appliedIndex, nowMs: 0 }, operations, loaded).outcome
}

/** Whether `kv.reap` with the same arguments would remove anything. */
export async function hasLeftovers(reader: Reader, args: ReapKeys): Promise<boolean> {
  const mark = await firstOf(reader.pagesBy(tombstones, 'byTime'))
  if (mark !== null && mark.timeMs < args.tombstonesBeforeMs) return true
  const delay = await firstOf(reader.pagesBy(lockDelays, 'byTime'))
  return delay !== null && delay.untilMs < args.delaysBeforeMs
}
