/**
 * Keys and values, and the locks that sessions hold on keys. This file: the records, their limits, and what a request's
 * words mean.
 */
import { Type, type Static } from 'typebox'
import { bytesSchema } from '../../fsm/codec.ts'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { MusterError } from '../../lib/errors.ts'
import { parseUnsigned } from '../../lib/unsigned.ts'
import { TimeMs } from '../define.ts'
import { NamespaceName } from '../namespaces/model.ts'

export { defaultNamespace } from '../namespaces/model.ts'

export const valueBytesMax = 512 * 1024
/** Characters of a key; every one of them may take two in the store's form of it. */
export const keyLengthMax = 4_000
/** Values up to this are kept in the key's own row; longer ones apart, so that lists of keys do not read them. */
export const inlineBytesMax = 512

export const Key = Type.String({ maxLength: keyLengthMax })

/** Of what a client says is a session: a UUID has 36 characters, and no longer text is one. */
export const sessionTextMax = 64

export const txnOperationsMax = 64
/** The body of a transaction, as JSON. */
export const txnBodyBytesMax = 512 * 1024
/** Keys that one operation on a tree may touch: they all change in one log entry. */
export const treeKeysMax = 100_000
/** Command version from which a check that names no session holds for a key that nobody holds. */
export const unheldChecksVersion = 20
/** Command version from which the leader judges lock delays by its own clock, and an entry by what its proposer had seen. */
export const judgedDelaysVersion = 22
/** Bytes of values that a transaction may read. */
export const txnReadBytesMax = 8 * 1024 * 1024

/** How long the mark of a deleted key is kept, at the least: until then the index of a prefix shows the deletion. */
export const tombstoneKeptMs = 15 * 60_000
/** Marks of deletions that are kept beyond that time, since they cost no read anything: as many as so many directories. */
export const deletionMarksMax = 20_000

/** What a path may hold: letters, marks, numbers, punctuation, symbols and the plain blank. */
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u

export const KeyPlace = Type.Object({ namespace: NamespaceName, key: Key })
export type KeyPlace = Readonly<Static<typeof KeyPlace>>

/** At this maximum, which no key is locked often enough to reach, one more is the same number: it is never exceeded. */
const LockIndex = Type.Integer({ minimum: 0, maximum: 2 ** 53 })

/** 64 bits unsigned, as decimal text. */
export const Flags = Type.String({ pattern: '^[0-9]{1,20}$', maxLength: 20 })

export const KvRow = record({
  ...KeyPlace.properties,
  flags: Flags,
  /** How often the key was locked anew: of two holders, the later has the higher one. */
  lockIndex: LockIndex,
  /** The holder; null when it is free. */
  session: Type.Union([Type.Null(), Type.String({ maxLength: sessionTextMax })]),
  /** Bytes of the value. */
  size: Count,
  /** The value when it is short; null: it is apart, in the row of `kvValues`. */
  value: Type.Union([Type.Null(), bytesSchema(inlineBytesMax)]),
  ...indexes,
})
export type KvRow = Readonly<Static<typeof KvRow>>

export const KvValueRow = record({ ...KeyPlace.properties, value: bytesSchema(valueBytesMax) })
export type KvValueRow = Readonly<Static<typeof KvValueRow>>

/** What is left of a deleted key for a while: where it was locked ever, or a server of an older program may still read it. */
export const TombstoneRow = record({
  ...KeyPlace.properties,
  index: Count,
  /** Its LockIndex goes on from here when the key comes back. */
  lockIndex: LockIndex,
  timeMs: TimeMs,
})
export type TombstoneRow = Readonly<Static<typeof TombstoneRow>>

/** The last deletion below a directory, or in it: see `deletion-model.ts`. */
export const DeletionMarkRow = record({
  namespace: NamespaceName,
  scope: Type.Union([Type.Literal('below'), Type.Literal('in')]),
  directory: Key,
  index: Count,
  timeMs: TimeMs,
})
export type DeletionMarkRow = Readonly<Static<typeof DeletionMarkRow>>

/**
 * The highest index among tombstones that were removed, so that the index of a prefix does not fall behind them, and the highest
 * LockIndex: a key created after `index` may be one of theirs, and no LockIndex of a key comes twice.
 */
export const ReapedRow = record({
  namespace: NamespaceName,
  index: Count,
  /** Absent in rows of the first programs. */
  lockIndex: Type.Optional(LockIndex),
  /** As `index`, of marks that only kept a LockIndex. Absent in rows of programs that had none such. */
  lockedIndex: Type.Optional(Count),
})
export type ReapedRow = Readonly<Static<typeof ReapedRow>>

/** The key can not be locked for some time after the end of the session that held it. */
export const LockDelayRow = record({
  ...KeyPlace.properties,
  /** Until when, by the wall clock of the leader that ended the session. */
  untilMs: Count,
  /** The entry that ended the session, and for how long after it; absent below `judgedDelaysVersion`. */
  endIndex: Type.Optional(Count),
  delayMs: Type.Optional(Count),
})
export type LockDelayRow = Readonly<Static<typeof LockDelayRow>>

/** Of a write with locks: the index of the state in which its proposer found none held back. Absent below `judgedDelaysVersion`. */
export const DelaysSeen = Type.Optional(Count)

/** What may hold a key back from being locked. */
export type LockDelay = {
  readonly untilMs: number
  /** Null: it is of a cluster with older servers. */
  readonly ended: { readonly index: number; readonly delayMs: number } | null
}

/** A lock that a write depends on: it takes place only while the key is locked with exactly this LockIndex. */
export const Fence = Type.Object({
  namespace: NamespaceName,
  key: Key,
  lockIndex: Type.Integer({ minimum: 0 }),
})
export type Fence = Readonly<Static<typeof Fence>>

/** The refusal of a write whose lock is not held with that LockIndex. */
export function lockMoved({ key, lockIndex }: Fence): MusterError {
  return new MusterError(
    'conflict',
    `the lock ${JSON.stringify(key)} is not held with LockIndex ${lockIndex} any more: nothing was written`,
  )
}

/** Of a key after percent-decoding. Throws `invalid_argument`. */
export function checkKey(key: string): void {
  if (key === '') throw new MusterError('invalid_argument', 'Missing key name')
  checkPrefix(key)
}

/** As `checkKey`; the empty prefix is that of all keys. */
export function checkPrefix(prefix: string): void {
  if (prefix.length > keyLengthMax) {
    throw new MusterError('invalid_argument', `a key has at most ${keyLengthMax} characters`)
  }
  if (unprintable.test(prefix)) {
    throw new MusterError('invalid_argument', 'a key has printable characters only')
  }
}

/** What a client says is a session, as it is looked for. */
export function sessionText(text: string): string {
  return text.slice(0, sessionTextMax).toLowerCase()
}

/** Flags as they are stored; undefined when the text is no unsigned 64-bit integer. */
export function parseFlags(text: string): string | undefined {
  return parseUnsigned(text)?.toString()
}

/** Flags for JSON: exact digits, whatever their number. */
export function flagsNumber(flags: string): number | bigint {
  const value = Number(flags)
  return Number.isSafeInteger(value) ? value : BigInt(flags)
}

/** A client's index, known to be an unsigned 64-bit integer: what no log reaches matches nothing, exact or not. */
export function clientIndex(index: bigint): number {
  return Number(index > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : index)
}
