/**
 * Changes of keys. Everything that a client writes is a list of operations, and may depend on a lock that stands; what
 * deletions left behind is removed by the leader, later.
 */
import { Type, type Static } from 'typebox'
import type { AnyCommandDefinition, Applied, Change, Reader } from '../../fsm/domain.ts'
import { defineCommand, put, remove, TimeMs } from '../define.ts'
import { namespaces } from '../namespaces/table.ts'
import { Fence, txnOperationsMax, type ReapedRow } from './model.ts'
import { evaluate, loadOperations, type LoadedOperations } from './operation-commands.ts'
import { Operation, type OperationsOutcome } from './operation-model.ts'
import { holdsFence } from './fence-queries.ts'
import { lockDelays, reaped, tombstones } from './table.ts'

/** Rows of one `kv.reap`. */
export const reapedRowsMax = 1_024

const Write = Type.Object({
  operations: Type.Array(Operation, { maxItems: txnOperationsMax }),
  fence: Type.Union([Type.Null(), Fence]),
  nowMs: TimeMs,
})

const Reap = Type.Object({
  /** Tombstones and lock delays of before this time go, the oldest first. */
  tombstonesBeforeMs: TimeMs,
  delaysBeforeMs: TimeMs,
})

export type WriteKeys = Static<typeof Write>
export type ReapKeys = Static<typeof Reap>

export type WriteOutcome =
  | OperationsOutcome
  /** The lock that the write depends on is not held, or was granted anew since. */
  | { readonly type: 'fenced' }
  | { readonly type: 'unknownNamespace'; readonly namespace: string }

export type ReapOutcome = { readonly removed: number }

type LoadedWrite = {
  readonly refusal: Extract<WriteOutcome, { type: 'fenced' | 'unknownNamespace' }> | null
  readonly operations: LoadedOperations
}

function loadWrite(
  reader: Reader,
  { operations, fence }: WriteKeys,
): LoadedWrite | Promise<LoadedWrite> {
  const unknown = operations.find(
    ({ namespace }) => reader.get(namespaces, [namespace]) === undefined,
  )
  const refusal: LoadedWrite['refusal'] =
    unknown !== undefined
      ? { type: 'unknownNamespace', namespace: unknown.namespace }
      : holdsFence(reader, fence)
        ? null
        : { type: 'fenced' }
  const loaded = loadOperations(reader, refusal === null ? operations : [])
  return loaded instanceof Promise
    ? loaded.then((operations) => ({ refusal, operations }))
    : { refusal, operations: loaded }
}

export const kvCommands: Readonly<Record<string, AnyCommandDefinition>> = {
  'kv.write': defineCommand({
    args: Write,
    load: loadWrite,
    apply: ({ index }, { operations, nowMs }, loaded): Applied<WriteOutcome> => {
      if (loaded.refusal !== null) return { changes: [], outcome: loaded.refusal }
      return evaluate({ index, nowMs }, operations, loaded.operations)
    },
  }),

  'kv.reap': defineCommand({
    args: Reap,
    load: async (reader, { tombstonesBeforeMs, delaysBeforeMs }) => {
      const old = await before(reader.pagesBy(tombstones, 'byTime'), (row) => {
        return row.timeMs < tombstonesBeforeMs
      })
      const over = await before(reader.pagesBy(lockDelays, 'byTime'), (row) => {
        return row.untilMs < delaysBeforeMs
      })
      const marks = new Map<string, ReapedRow>()
      for (const { namespace } of old) {
        const mark = reader.get(reaped, [namespace])
        marks.set(namespace, mark ?? { namespace, index: 0, lockIndex: 0 })
      }
      return { old, over, marks }
    },
    apply: (_context, _args, { old, over, marks }) => {
      const highest = new Map(marks)
      for (const { namespace, index, lockIndex } of old) {
        const mark = highest.get(namespace)
        highest.set(namespace, {
          namespace,
          index: Math.max(index, mark?.index ?? 0),
          lockIndex: Math.max(lockIndex, mark?.lockIndex ?? 0),
        })
      }
      const changes: Change[] = [
        ...old.map(({ namespace, key }) => remove(tombstones, [namespace, key])),
        ...over.map(({ namespace, key }) => remove(lockDelays, [namespace, key])),
        ...[...highest.values()].map((mark) => put(reaped, mark)),
      ]
      const outcome: ReapOutcome = { removed: old.length + over.length }
      return { changes, outcome }
    },
  }),
}

/** The front of an order by time, bounded. */
async function before<Row>(
  pages: AsyncIterable<readonly Row[]>,
  isBefore: (row: Row) => boolean,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  for await (const page of pages) {
    for (const row of page) {
      if (rows.length >= reapedRowsMax || !isBefore(row)) return rows
      rows.push(row)
    }
  }
  return rows
}
