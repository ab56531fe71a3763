/**
 * Two layers of keys. Data keys seal variables; they are made by a leader and replicated, but only wrapped. The cluster
 * key wraps them; it is never in the log, the state or a snapshot, where only its id appears (`cluster-key.ts`).
 */
import { Type, type Static } from 'typebox'
import { bytesSchema } from '../../fsm/codec.ts'
import { indexes, record } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'

const wrappedBytesMax = 256

export const KeyState = Type.Enum(['active', 'inactive'])
export type KeyState = Static<typeof KeyState>

/** Of data keys and of cluster keys. */
export const KeyId = Type.String({ minLength: 1, maxLength: 64 })
export const WrappedKey = bytesSchema(wrappedBytesMax)

export const KeyRow = record({
  /** UUID */
  id: KeyId,
  /** Which cluster key opens `wrapped`. */
  clusterKeyId: KeyId,
  wrapped: WrappedKey,
  /** Exactly one row of a non-empty keyring is active: it seals what is written. */
  state: KeyState,
  createTimeMs: TimeMs,
  /** When another key took over; null while active. */
  retiredTimeMs: Type.Union([Type.Null(), TimeMs]),
  ...indexes,
})
export type KeyRow = Readonly<Static<typeof KeyRow>>

/** The active key is replaced when it is this old. */
export const keyAgeMaxMs = 30 * 24 * 3_600_000

/** An unused key stays for this long: an operator who lists the keys after a rotation finds what was replaced. */
export const retiredKeyKeptMs = 3_600_000

/** More keys than this are not made: re-encryption must catch up first. */
export const keysMax = 64

export function activeKey(rows: readonly KeyRow[]): KeyRow | null {
  return rows.find(({ state }) => state === 'active') ?? null
}
