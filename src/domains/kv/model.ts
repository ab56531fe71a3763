/**
 * Keys and values, and the locks that sessions hold on keys. This file: the records, their limits, and what a request's
 * words mean.
 */
import { Type, type Static } from 'typebox'
import { MusterError } from '../../lib/errors.ts'

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
/** Bytes of values that a transaction may read. */
export const txnReadBytesMax = 8 * 1024 * 1024

/** How long the mark of a deleted key is kept, at the least: until then the index of a prefix shows the deletion. */
export const tombstoneKeptMs = 15 * 60_000

const uint64Max = 2n ** 64n - 1n
/** What a path may hold: letters, marks, numbers, punctuation, symbols and the plain blank. */
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u

export type KeyPlace = { readonly namespace: string; readonly key: string }

export type KvRow = KeyPlace & {
  /** 64 bits unsigned, as decimal text. */
  readonly flags: string
  /** How often the key was locked anew: of two holders, the later has the higher one. */
  readonly lockIndex: number
  /** The holder; null when it is free. */
  readonly session: string | null
  /** Bytes of the value. */
  readonly size: number
  /** The value when it is short; null: it is apart, in the row of `kvValues`. */
  readonly value: Uint8Array | null
  readonly createIndex: number
  readonly modifyIndex: number
}

export type KvValueRow = KeyPlace & { readonly value: Uint8Array }

/** What is left of a deleted key for a while. */
export type TombstoneRow = KeyPlace & {
  readonly index: number
  /** Its LockIndex goes on from here when the key comes back. */
  readonly lockIndex: number
  readonly timeMs: number
}

/**
 * The highest index among tombstones that were removed, so that the index of a prefix does not fall behind them, and the highest
 * LockIndex: a key created after `index` may be one of theirs, and no LockIndex of a key comes twice.
 */
export type ReapedRow = {
  readonly namespace: string
  readonly index: number
  readonly lockIndex: number
}

/** The key can not be locked before this time, by the leader's wall clock. */
export type LockDelayRow = KeyPlace & { readonly untilMs: number }

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
  if (!/^[0-9]{1,20}$/.test(text)) return undefined
  const value = BigInt(text)
  return value <= uint64Max ? value.toString() : undefined
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
