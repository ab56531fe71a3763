/**
 * What becomes of a list of operations at one index: each sees what those before it did, and either all take place or
 * none. Also for reading alone: what changes nothing may be evaluated anywhere.
 */
import { counterFloorVersion } from '../../fsm/counter-floor.ts'
import type { Change, Reader } from '../../fsm/domain.ts'
import { assertNever } from '../../lib/assert.ts'
import { remove } from '../define.ts'
import { sessionOf } from '../sessions/queries.ts'
import { lockIndexOfDeleted } from './deletion-queries.ts'
import { Entries, inlineOf, type Entry, type Unwritten } from './entry-model.ts'
import { lockDelayWith, findIn, numbered, releaseOf, type Release } from './held-queries.ts'
import {
  treeKeysMax,
  txnReadBytesMax,
  unheldChecksVersion,
  type KeyPlace,
  type KvRow,
  type LockDelay,
} from './model.ts'
import type {
  Operation,
  OperationsOutcome,
  Refusal,
  RefusedOperation,
  ShownEntry,
} from './operation-model.ts'
import { keys, kvValues, lockDelays, reaped } from './table.ts'

type LoadedOperation = {
  /** Of a lock: whether its session lives, and what may hold the key back. */
  readonly sessionLives: boolean
  readonly delay: LockDelay | null
  /** Of a lock: what LockIndexes are above, of a key created after `index`. */
  readonly floor: { readonly index: number; readonly lockIndex: number }
  readonly counterFloor: number
  /** Of content: where the LockIndex of a new key goes on from. */
  readonly lockIndexBefore: number
  /** Of a tree: more than one operation may touch. */
  readonly tooMuch: boolean
}

/** What stands of a key: its row, and the LockIndex also of one that is gone. */
type LoadedKey = {
  readonly row: KvRow | null
  readonly release: Release | null
  readonly lockIndex: number
}

const absent: LoadedKey = { row: null, release: null, lockIndex: 0 }

export type LoadedOperations = {
  readonly entries: Entries
  readonly byOperation: readonly LoadedOperation[]
}

const nothing: LoadedOperation = {
  sessionLives: false,
  delay: null,
  floor: { index: 0, lockIndex: 0 },
  counterFloor: 0,
  lockIndexBefore: 0,
  tooMuch: false,
}

/** What one entry deletes and makes again goes on with its LockIndex, since all servers do so. */
function keepsAllLockIndexes({ commandVersion }: Reader): boolean {
  return commandVersion >= counterFloorVersion
}

/** A promise only where a tree has to be read. */
export function loadOperations(
  reader: Reader,
  operations: readonly Operation[],
): LoadedOperations | Promise<LoadedOperations> {
  const entries = new Entries(reader.commandVersion)
  const trees: Promise<LoadedOperation>[] = []
  const byOperation: (LoadedOperation | null)[] = operations.map((operation) => {
    if (operation.type === 'get-tree' || operation.type === 'delete-tree') {
      trees.push(loadTree(reader, operation, entries))
      return null
    }
    return loadOne(reader, operation, loadEntry(reader, operation, operations, entries))
  })
  if (trees.length === 0) return { entries, byOperation: byOperation.map((one) => one ?? nothing) }
  return Promise.all(trees).then((loaded) => {
    const rest = loaded.values()
    return { entries, byOperation: byOperation.map((one) => one ?? rest.next().value ?? nothing) }
  })
}

function loadEntry(
  reader: Reader,
  { namespace, key }: KeyPlace,
  operations: readonly Operation[],
  entries: Entries,
): LoadedKey {
  const stored = reader.get(keys, [namespace, key])
  if (stored === undefined) {
    entries.add({ namespace, key }, null)
    return absent
  }
  const { row, release } = findIn(reader)(stored)
  const unwritten = unwrittenOf(reader, release, stored)
  const loaded = { row, release, lockIndex: numbered(reader, stored).lockIndex }
  if (row === null) {
    entries.add({ namespace, key }, null, unwritten)
    return loaded
  }
  // A long value is read only where it is shown, or may turn out to be the one that is written.
  const matters = operations.some(
    (operation) =>
      operation.key === key &&
      (operation.type === 'get' ||
        ('value' in operation && operation.value.byteLength === row.size)),
  )
  const entry = { row, value: row.value ?? (matters ? valueApart(reader, row) : null) }
  entries.add(row, entry, unwritten)
  return loaded
}

function unwrittenOf(reader: Reader, release: Release | null, stored: KvRow): Unwritten {
  return release === null ? [] : releaseOf(reader, release, [stored])
}

function loadOne(reader: Reader, operation: Operation, loaded: LoadedKey): LoadedOperation {
  if (!('value' in operation)) return nothing
  const { row, release, lockIndex } = loaded
  const { namespace } = operation
  const lockIndexBefore =
    row === null
      ? Math.max(lockIndex, lockIndexOfDeleted(reader, operation))
      : keepsAllLockIndexes(reader)
        ? lockIndex
        : 0
  if (operation.type !== 'lock') return { ...nothing, lockIndexBefore }
  return {
    ...nothing,
    lockIndexBefore,
    sessionLives: sessionOf(reader, { namespace, id: operation.session }) !== null,
    delay: lockDelayWith(reader, operation, release),
    floor: reapedFloor(reader, namespace),
    counterFloor: reader.counterFloor,
  }
}

function reapedFloor(reader: Reader, namespace: string): LoadedOperation['floor'] {
  const { index = 0, lockedIndex = 0, lockIndex = 0 } = reader.get(reaped, [namespace]) ?? {}
  return { index: Math.max(index, lockedIndex), lockIndex }
}

async function loadTree(
  reader: Reader,
  { type, namespace, key }: Operation,
  entries: Entries,
): Promise<LoadedOperation> {
  const shown = type === 'get-tree'
  const find = findIn(reader)
  let count = 0
  let bytes = 0
  for await (const page of reader.pages(keys, { prefix: [namespace], startsWith: key })) {
    for (const stored of page) {
      const { row, release } = find(stored)
      if (row === null) continue
      count += 1
      if (shown) bytes += row.size
      if (count > treeKeysMax || bytes > txnReadBytesMax) return { ...nothing, tooMuch: true }
      const entry = { row, value: row.value ?? (shown ? valueApart(reader, row) : null) }
      entries.add(row, entry, unwrittenOf(reader, release, stored))
    }
  }
  return nothing
}

export function valueApart(reader: Reader, { namespace, key }: KeyPlace): Uint8Array | null {
  return reader.get(kvValues, [namespace, key])?.value ?? null
}

/** `nowMs`: wall time as the proposer chose it. `isHeldBack`: whether a lock delay holds its key back still. */
export type At = {
  readonly index: number
  readonly nowMs: number
  readonly isHeldBack: (delay: LockDelay) => boolean
}

export type JudgedTimes = { readonly nowMs: number; readonly delaysSeen?: number }

/**
 * As an entry judges lock delays. Its proposer found none of those that it saw, in the state of `delaysSeen`, to hold a key back:
 * one of a session that ended since then has just begun. That is no question of time, which all servers would have to know
 * alike. (An index that is not reached is of an archive.) Absent, as below `judgedDelaysVersion`: by the proposer's wall clock.
 */
export function judgedAt(index: number, { nowMs, delaysSeen }: JudgedTimes): At {
  const isHeldBack =
    delaysSeen === undefined
      ? ({ untilMs }: LockDelay) => nowMs < untilMs
      : ({ ended }: LockDelay) => ended !== null && ended.index > delaysSeen && ended.index < index
  return { index, nowMs, isHeldBack }
}

export function evaluate(
  at: At,
  operations: readonly Operation[],
  loaded: LoadedOperations,
): { readonly changes: readonly Change[]; readonly outcome: OperationsOutcome } {
  const { changes, shown, refused } = evaluateEach(at, operations, loaded)
  if (refused.length > 0) return { changes: [], outcome: { type: 'refused', refused } }
  const [first = []] = shown
  return { changes, outcome: { type: 'done', entries: shown.length === 1 ? first : shown.flat() } }
}

export type EachEvaluated = {
  /** None when an operation is refused. */
  readonly changes: readonly Change[]
  /** By operation; of those that are not refused. */
  readonly shown: readonly (readonly ShownEntry[])[]
  readonly refused: readonly RefusedOperation[]
}

export function evaluateEach(
  at: At,
  operations: readonly Operation[],
  { entries, byOperation }: LoadedOperations,
): EachEvaluated {
  const shown: (readonly ShownEntry[])[] = []
  const refused: RefusedOperation[] = []
  const delaysOver: Change[] = []
  let bytes = 0
  for (const [position, operation] of operations.entries()) {
    const loaded = byOperation[position] ?? nothing
    const result = one(at, operation, loaded, entries)
    if (result.type === 'shown') shown.push(result.entries)
    else refused.push({ at: position, refusal: result })
    if (result.type === 'shown') {
      bytes += result.entries.reduce((sum, { value }) => sum + (value?.byteLength ?? 0), 0)
      if (bytes > txnReadBytesMax) refused.push({ at: position, refusal: { type: 'tooMuch' } })
    }
    if (operation.type === 'lock' && loaded.delay !== null) {
      delaysOver.push(remove(lockDelays, [operation.namespace, operation.key]))
    }
  }
  if (refused.length > 0) return { changes: [], shown, refused }
  const changes = [...entries.changes(at.index, at.nowMs), ...delaysOver]
  return { changes, shown, refused }
}

type Result = { readonly type: 'shown'; readonly entries: readonly ShownEntry[] } | Refusal

const none: Result = { type: 'shown', entries: [] }

function one(at: At, operation: Operation, loaded: LoadedOperation, entries: Entries): Result {
  const entry = entries.get(operation)
  const row = entry?.row ?? null
  switch (operation.type) {
    case 'set':
      return write(at, operation, entry, loaded, entries)
    case 'cas':
      if (operation.index !== (row?.modifyIndex ?? 0)) return { type: 'stale' }
      return write(at, operation, entry, loaded, entries)
    case 'lock':
      // Whoever asks, as at Consul: also one whose session has ended.
      if (
        row?.session !== operation.session &&
        loaded.delay !== null &&
        at.isHeldBack(loaded.delay)
      ) {
        return { type: 'lockDelay' }
      }
      if (!loaded.sessionLives) return { type: 'unknownSession' }
      if (row !== null && row.session !== null && row.session !== operation.session) {
        return { type: 'lockHeld' }
      }
      return write(at, operation, entry, loaded, entries)
    case 'unlock':
      if (row === null || row.session !== operation.session) return { type: 'notHeld' }
      return write(at, operation, entry, loaded, entries)
    case 'delete':
      entries.set(operation, null)
      return none
    case 'delete-cas':
      if (row !== null && row.modifyIndex !== operation.index) return { type: 'stale' }
      entries.set(operation, null)
      return none
    case 'delete-tree':
      if (loaded.tooMuch) return { type: 'tooMuch' }
      for (const below of entries.below(operation)) entries.set(below.row, null)
      return none
    case 'get':
      return entry === null ? { type: 'missing' } : { type: 'shown', entries: [entry] }
    case 'get-tree':
      if (loaded.tooMuch) return { type: 'tooMuch' }
      return { type: 'shown', entries: [...entries.below(operation)].sort(byKey) }
    case 'check-index':
      if (row === null) return { type: 'missing' }
      return row.modifyIndex === operation.index ? withoutValue(row) : { type: 'stale' }
    case 'check-session':
      if (row === null) return { type: 'missing' }
      return isHeldBy(row, operation.session, entries.commandVersion)
        ? withoutValue(row)
        : { type: 'notHeld' }
    case 'check-not-exists':
      return row === null ? none : { type: 'exists' }
    default:
      return assertNever(operation)
  }
}

/** By nobody, as at Consul, where `session` is empty. */
function isHeldBy(row: KvRow, session: string, commandVersion: number): boolean {
  const holder = row.session ?? (commandVersion >= unheldChecksVersion ? '' : null)
  return holder === session
}

type ContentOperation = Extract<Operation, { readonly value: Uint8Array }>

/** The same content in the same state of its lock is no change, and moves no index. */
function write(
  { index }: At,
  operation: ContentOperation,
  entry: Entry | null,
  { lockIndexBefore, floor, counterFloor }: LoadedOperation,
  entries: Entries,
): Result {
  const { namespace, key, value, flags } = operation
  const before = entry?.row ?? null
  const session =
    operation.type === 'lock'
      ? operation.session
      : operation.type === 'unlock'
        ? null
        : (before?.session ?? null)
  const lockedAnew = operation.type === 'lock' && before?.session !== operation.session
  const same =
    before !== null &&
    before.session === session &&
    before.flags === flags &&
    entry !== null &&
    isSame(entry.value, value)
  if (same) return withoutValue(before)
  const createIndex = before?.createIndex ?? index
  const ownLockIndex =
    before?.lockIndex ?? Math.max(lockIndexBefore, entries.highestLockIndex(operation))
  const reapedLockIndex = createIndex > floor.index ? floor.lockIndex : 0
  const above = Math.max(ownLockIndex, reapedLockIndex, counterFloor)
  const row: KvRow = {
    namespace,
    key,
    flags,
    lockIndex: lockedAnew ? above + 1 : ownLockIndex,
    session,
    size: value.byteLength,
    value: inlineOf(value),
    createIndex,
    modifyIndex: index,
  }
  entries.set(operation, { row, value })
  return withoutValue(row)
}

function withoutValue(row: KvRow): Result {
  return { type: 'shown', entries: [{ row: { ...row, value: null }, value: null }] }
}

function isSame(left: Uint8Array | null, right: Uint8Array): boolean {
  return left !== null && Buffer.compare(left, right) === 0
}

function byKey(left: ShownEntry, right: ShownEntry): number {
  return Buffer.compare(Buffer.from(left.row.key), Buffer.from(right.row.key))
}
