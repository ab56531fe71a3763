/**
 * Variables: encrypted items under a namespace and a path, changed by check-and-set. Rules as in the specification's
 * part "Variables"; where it leaves room, as Nomad behaves.
 */
import { Type, type Static } from 'typebox'
import { bytesSchema } from '../../fsm/codec.ts'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { MusterError } from '../../lib/errors.ts'
import { TimeMs } from '../define.ts'
import { NamespaceName } from '../namespaces/model.ts'
import { KeyId } from './keyring-model.ts'

/** What a request means that names no namespace, and the word for all of them. */
export { defaultNamespace } from '../namespaces/model.ts'

/** UTF-8 bytes of all keys and values of one variable, counted on the plain text. */
export const itemsBytesMax = 16 * 1024

export const pathLengthMax = 128

/** Distinct keys: 129 of at most one byte, the others of two bytes or more. */
const itemsMax = itemsBytesMax / 2 + 129

/** What one sealed variable may take in a command: the plain text as JSON, six characters for a byte at worst. */
export const sealedBytesMax = 6 * itemsBytesMax + 8 * itemsMax + 256

/** Pairs, not an object: `__proto__` is a key like any other. */
export type Items = readonly (readonly [string, string])[]

/** The index that a variable must have, 0 for none; null: a change does not depend on it. */
export const Cas = Type.Union([Type.Null(), Type.Integer({ minimum: 0 })])

/** Of secrets that later domains seal. No namespace has this name, so no client can name what is in it. */
export const secretsNamespace = '.logins'

export const VariablePlace = Type.Object({
  namespace: NamespaceName,
  path: Type.String({ maxLength: pathLengthMax }),
})

export const VariableRow = record({
  ...VariablePlace.properties,
  ...indexes,
  createTimeMs: TimeMs,
  modifyTimeMs: TimeMs,
})
export type VariableRow = Readonly<Static<typeof VariableRow>>

export const Sealed = bytesSchema(sealedBytesMax)

/** Kept apart from the row above, so that a list never reads ciphertext. */
export const SealedRow = record({
  ...VariablePlace.properties,
  /** The variable's ModifyIndex when these items were written; sealing them anew leaves it. */
  modifyIndex: Count,
  keyId: KeyId,
  sealed: Sealed,
})
export type SealedRow = Readonly<Static<typeof SealedRow>>

const pathPattern = /^[a-zA-Z0-9\-_~/]{1,128}$/

/** Of a path as it is after percent-decoding. `a`, `a/` and `a//` are three paths. Throws `invalid_argument`. */
export function checkPath(path: string): void {
  if (pathPattern.test(path)) return
  throw new MusterError(
    'invalid_argument',
    path === ''
      ? 'the path of the variable is missing'
      : 'a variable path is 1 to 128 of the characters a-z A-Z 0-9 - _ ~ /',
  )
}

/**
 * Items as they are stored: well-formed text, of a key given twice the last value. Throws `invalid_argument`; the text
 * never shows a key or a value.
 */
export function checkItems(items: Items): Items {
  const byKey = new Map<string, string>()
  for (const [key, value] of items) byKey.set(key.toWellFormed(), value.toWellFormed())
  const checked = [...byKey]
  if (checked.length === 0) {
    throw new MusterError('invalid_argument', 'Items must be an object with at least one entry')
  }
  const bytes = checked.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
  if (bytes > itemsBytesMax) {
    throw new MusterError(
      'invalid_argument',
      `Items may have at most ${itemsBytesMax} bytes of keys and values in UTF-8, these have ${bytes}`,
    )
  }
  return checked
}

/**
 * A client's `cas`, already known to be an unsigned 64-bit integer, as an index. What no log reaches
 * matches no index, so its exact value does not matter.
 */
export function casIndex(cas: bigint): number {
  return Number(cas > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : cas)
}

/** Where a page of a list starts: the first entry not below this. */
export type ListStart = { readonly namespace: string; readonly path: string }

export function listToken(row: ListStart): string {
  return `${row.namespace}.${row.path}`
}

/** Neither part holds a dot. A token nobody gave is a place in the order like any other. */
export function parseListToken(token: string): ListStart {
  const dot = token.indexOf('.')
  return dot < 0
    ? { namespace: token, path: '' }
    : { namespace: token.slice(0, dot), path: token.slice(dot + 1) }
}
