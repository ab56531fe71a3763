/**
 * Operations on keys: the words of a transaction, of which a single request is one of length one. How they are written
 * in a command, and what becomes of each.
 */
import { Type, type Static, type TSchema } from 'typebox'
import { bytesSchema } from '../../fsm/codec.ts'
import { Flags, KeyPlace, sessionTextMax, valueBytesMax, type KvRow } from './model.ts'

const Content = { value: bytesSchema(valueBytesMax), flags: Flags }
const Index = { index: Type.Integer({ minimum: 0 }) }
const Session = { session: Type.String({ maxLength: sessionTextMax }) }

function operation<Name extends string, Fields extends Record<string, TSchema>>(
  type: Name,
  fields: Fields,
) {
  return Type.Object({ type: Type.Literal(type), ...KeyPlace.properties, ...fields })
}

/** A session is a UUID in lower case, or the beginning of what a client wrote in its place: that one holds nothing. */
export const Operation = Type.Union([
  operation('set', Content),
  operation('cas', { ...Content, ...Index }),
  operation('lock', { ...Content, ...Session }),
  operation('unlock', { ...Content, ...Session }),
  operation('delete', {}),
  operation('delete-cas', Index),
  operation('delete-tree', {}),
  operation('get', {}),
  operation('get-tree', {}),
  operation('check-index', Index),
  operation('check-session', Session),
  operation('check-not-exists', {}),
])

export type Operation = Static<typeof Operation>
export type Verb = Operation['type']

export const readVerbs: ReadonlySet<Verb> = new Set<Verb>([
  'get',
  'get-tree',
  'check-index',
  'check-session',
  'check-not-exists',
])

/** What an operation says about its key: for a read with the value, otherwise without. */
export type ShownEntry = { readonly row: KvRow; readonly value: Uint8Array | null }

/** Why an operation did not take place. */
export type Refusal =
  | { readonly type: 'missing' }
  | { readonly type: 'exists' }
  /** The key is there with another index. */
  | { readonly type: 'stale' }
  | { readonly type: 'lockHeld' }
  | { readonly type: 'lockDelay' }
  | { readonly type: 'notHeld' }
  | { readonly type: 'unknownSession' }
  | { readonly type: 'tooMuch' }

export type RefusedOperation = { readonly at: number; readonly refusal: Refusal }

/** All of them took place, or none. */
export type OperationsOutcome =
  | { readonly type: 'done'; readonly entries: readonly ShownEntry[] }
  | { readonly type: 'refused'; readonly refused: readonly RefusedOperation[] }
