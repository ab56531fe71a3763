/**
 * Changes of keys. Everything that a client writes is a list of operations, and may depend on a lock that stands; what
 * deletions left behind is removed by the leader, later.
 */
import { Type, type Static } from 'typebox'
import type { Applied, Change, Reader } from '../../fsm/domain.ts'
import { Count } from '../../fsm/row-schema.ts'
import { commandsByType, defineCommand, put, remove, TimeMs } from '../define.ts'
import { namespaces } from '../namespaces/table.ts'
import { deletionMarksVersion } from './deletion-model.ts'
import {
  DelaysSeen,
  DeletionMarkRow,
  Fence,
  txnOperationsMax,
  type ReapedRow,
  type LockDelayRow,
  type TombstoneRow,
} from './model.ts'
import { evaluate, judgedAt, loadOperations, type LoadedOperations } from './operation-commands.ts'
import { Operation, type OperationsOutcome } from './operation-model.ts'
import { holdsFence } from './fence-queries.ts'
import { deletionMarks, lockDelays, lockMarks, reaped, tombstones } from './table.ts'

/** Rows of a kind that one `kv.reap` removes: some milliseconds of each server. */
export const reapedRows = 256
/** Rows of one `kv.reapMarks`, and of a kind of `kv.reap` before `smallReapsVersion`. */
export const reapedRowsMax = 1_024
const smallReapsVersion = 5

const Write = Type.Object({
  operations: Type.Array(Operation, { maxItems: txnOperationsMax }),
  fence: Type.Union([Type.Null(), Fence]),
  nowMs: TimeMs,
  delaysSeen: DelaysSeen,
})

const Reap = Type.Object({
  /** Tombstones and lock delays of before this time go, the oldest first. */
  tombstonesBeforeMs: TimeMs,
  delaysBeforeMs: TimeMs,
  /** Of sessions that ended up to this index; absent below `judgedDelaysVersion`. */
  delaysUpTo: Type.Optional(Count),
})

const ReapMarks = Type.Object({
  marks: Type.Array(DeletionMarkRow, { maxItems: reapedRowsMax }),
})

export type ReapMarks = Static<typeof ReapMarks>
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

export const writeKey = defineCommand({
  type: 'kv.write',
  args: Write,
  load: loadWrite,
  apply: ({ index }, args, loaded): Applied<WriteOutcome> => {
    if (loaded.refusal !== null) return { changes: [], outcome: loaded.refusal }
    return evaluate(judgedAt(index, args), args.operations, loaded.operations)
  },
})

export const reapKeys = defineCommand({
  type: 'kv.reap',
  args: Reap,
  load: async (reader, args) => {
    const { tombstonesBeforeMs } = args
    const isOld = (row: TombstoneRow) => row.timeMs < tombstonesBeforeMs
    const rowsMax = reader.commandVersion >= smallReapsVersion ? reapedRows : reapedRowsMax
    const old = await before(reader.pagesBy(tombstones, 'byTime'), isOld, rowsMax)
    const unlocked =
      reader.commandVersion >= deletionMarksVersion
        ? await before(reader.pagesBy(lockMarks, 'byTime'), isOld, rowsMax)
        : []
    const over = await before(
      reader.pagesBy(lockDelays, 'byTime'),
      isDelayOver(reader, args),
      rowsMax,
    )
    return { old, unlocked, over, marks: reapedOf(reader, [...old, ...unlocked]) }
  },
  apply: (_context, _args, { old, unlocked, over, marks }) => {
    const highest = new Map(marks)
    for (const { namespace, index, lockIndex } of old) {
      const mark = highest.get(namespace)
      highest.set(namespace, {
        ...mark,
        namespace,
        index: Math.max(index, mark?.index ?? 0),
        lockIndex: Math.max(lockIndex, mark?.lockIndex ?? 0),
      })
    }
    for (const { namespace, index, lockIndex } of unlocked) {
      const mark = highest.get(namespace)
      highest.set(namespace, {
        namespace,
        index: mark?.index ?? 0,
        lockIndex: Math.max(lockIndex, mark?.lockIndex ?? 0),
        lockedIndex: Math.max(index, mark?.lockedIndex ?? 0),
      })
    }
    const changes: Change[] = [
      ...old.map(({ namespace, key }) => remove(tombstones, [namespace, key])),
      ...unlocked.map(({ namespace, key }) => remove(lockMarks, [namespace, key])),
      ...over.map(({ namespace, key }) => remove(lockDelays, [namespace, key])),
      ...[...highest.values()].map((mark) => put(reaped, mark)),
    ]
    const outcome: ReapOutcome = { removed: old.length + unlocked.length + over.length }
    return { changes, outcome }
  },
})

/**
 * Marks of directories that did not change since. From then on the last deletion of the namespace counts for every prefix: with
 * fewer marks a prefix may be read by its own ones again, and would fall behind the one of all.
 */
export const reapMarks = defineCommand({
  type: 'kv.reapMarks',
  since: deletionMarksVersion,
  args: ReapMarks,
  load: (reader, { marks }) => {
    const gone = marks.filter(({ namespace, scope, directory, index }) => {
      return reader.get(deletionMarks, [namespace, scope, directory])?.index === index
    })
    const names = new Set(gone.map(({ namespace }) => namespace))
    const last = [...names].flatMap((name) => reader.get(deletionMarks, [name, 'below', '']) ?? [])
    return { gone, last, marks: reapedOf(reader, gone) }
  },
  apply: (_context, _args, { gone, last, marks }) => {
    const highest = new Map(marks)
    for (const { namespace, index } of [...gone, ...last]) {
      const mark = highest.get(namespace)
      highest.set(namespace, { ...mark, namespace, index: Math.max(index, mark?.index ?? 0) })
    }
    const outcome: ReapOutcome = { removed: gone.length }
    const changes: Change[] = [
      ...gone.map(({ namespace, scope, directory }) => {
        return remove(deletionMarks, [namespace, scope, directory])
      }),
      ...[...highest.values()].map((mark) => put(reaped, mark)),
    ]
    return { changes, outcome }
  },
})

/** Those that may go. One of an index that is not reached is of an archive. */
export function isDelayOver(
  { appliedIndex }: Reader,
  { delaysBeforeMs, delaysUpTo = appliedIndex }: ReapKeys,
): (row: LockDelayRow) => boolean {
  return ({ untilMs, endIndex = 0 }) =>
    untilMs < delaysBeforeMs && (endIndex <= delaysUpTo || endIndex > appliedIndex)
}

export const kvCommands = commandsByType([writeKey, reapKeys, reapMarks])

/** What was removed before, of each namespace of these rows. */
function reapedOf(
  reader: Reader,
  rows: readonly { readonly namespace: string }[],
): ReadonlyMap<string, ReapedRow> {
  const marks = new Map<string, ReapedRow>()
  for (const { namespace } of rows) {
    const mark = reader.get(reaped, [namespace])
    marks.set(namespace, mark ?? { namespace, index: 0, lockIndex: 0 })
  }
  return marks
}

/** The front of an order by time, bounded. */
async function before<Row>(
  pages: AsyncIterable<readonly Row[]>,
  isBefore: (row: Row) => boolean,
  rowsMax: number,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  for await (const page of pages) {
    for (const row of page) {
      if (rows.length >= rowsMax || !isBefore(row)) return rows
      rows.push(row)
    }
  }
  return rows
}
