/**
 * Two layers of keys. Data keys seal variables; they are made by a leader and replicated, but only wrapped. The cluster
 * key wraps them; it is never in the log, the state or a snapshot, where only its id appears (`cluster-key.ts`).
 */
export type KeyState = 'active' | 'inactive'

export type KeyRow = {
  /** UUID */
  readonly id: string
  /** Which cluster key opens `wrapped`. */
  readonly clusterKeyId: string
  readonly wrapped: Uint8Array
  /** Exactly one row of a non-empty keyring is active: it seals what is written. */
  readonly state: KeyState
  readonly createTimeMs: number
  /** When another key took over; null while active. */
  readonly retiredTimeMs: number | null
  readonly createIndex: number
  readonly modifyIndex: number
}

/** The active key is replaced when it is this old. */
export const keyAgeMaxMs = 30 * 24 * 3_600_000

/** An unused key stays for this long: whoever looks at the list after a rotation finds what was replaced. */
export const retiredKeyKeptMs = 3_600_000

/** More keys than this are not made: re-encryption must catch up first. */
export const keysMax = 64

export function activeKey(rows: readonly KeyRow[]): KeyRow | null {
  return rows.find(({ state }) => state === 'active') ?? null
}
