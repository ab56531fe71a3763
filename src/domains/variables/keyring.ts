/**
 * The keyring as one server uses it: data keys unwrapped on demand and kept in memory, the active one to seal with.
 * Which keys there are is read from the state each time, so a rotation or a restore needs no notice.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Reader } from '../../fsm/domain.ts'
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { missingClusterKey, type ClusterKey, type ClusterKeys } from './cluster-key.ts'
import { activeKey, type KeyRow } from './keyring-model.ts'
import type { Items, SealedRow } from './model.ts'
import { keyBytes, Sealer, unwrapKey, wrapKey, type Owner } from './seal.ts'
import { keyring, keysOf } from './table.ts'

export type NewKey = Pick<KeyRow, 'id' | 'clusterKeyId' | 'wrapped'>

/** How long a write waits for the keyring: a cluster that has just begun has none. */
const keyringWaitMs = 5_000
const keyringPollMs = 50

/** Of a request that seals. */
export type SealContext = {
  read(): Reader
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Unwrapped data keys kept in memory. */
const unwrappedMax = 256

export class ClusterKeyring {
  readonly keys: ClusterKeys
  readonly #sealer = new Sealer()
  #active: { readonly index: number; readonly row: KeyRow | null } | null = null
  /** By id. */
  readonly #unwrapped = new Map<string, { readonly wrapped: Uint8Array; readonly bytes: Buffer }>()

  /** For as long as the state keeps the very row, so that what many read is opened once. */
  readonly #opened = new WeakMap<SealedRow, Items>()

  constructor(keys: ClusterKeys) {
    this.keys = keys
  }

  /**
   * The key to seal with, null while there is none that this server can open. Every write asks, so the answer is kept
   * for as long as the keyring's table does not change.
   */
  async active(reader: Reader): Promise<KeyRow | null> {
    const known = this.#known(reader)
    if (known !== undefined) return known
    const index = reader.tableIndex(keyring)
    this.#active = { index, row: activeKey(await keysOf(reader)) }
    return this.#usable(this.#active.row)
  }

  /** As `active`; undefined: the keyring has to be read. */
  #known(reader: Reader): KeyRow | null | undefined {
    const active = this.#active
    return active?.index === reader.tableIndex(keyring) ? this.#usable(active.row) : undefined
  }

  #usable(row: KeyRow | null): KeyRow | null {
    return row !== null && this.keys.get(row.clusterKeyId) !== null ? row : null
  }

  /**
   * The key to seal with, waited for: nothing is stored unsealed. Rejects with `unavailable` when there is none in time, `cancelled`
   * when the caller goes away. At once where the key is known, as it is for nearly every write.
   */
  ready(context: SealContext): KeyRow | Promise<KeyRow> {
    return this.#known(context.read()) ?? this.#awaited(context)
  }

  async #awaited(context: SealContext): Promise<KeyRow> {
    const { clock, signal } = context
    const deadlineMs = clock.monotonicMs() + keyringWaitMs
    for (;;) {
      const active = await this.active(context.read())
      if (active !== null) return active
      if (signal.aborted) throw new MusterError('cancelled', 'the caller went away')
      if (clock.monotonicMs() >= deadlineMs) {
        throw new MusterError(
          'unavailable',
          'the keyring that seals secrets is not ready: a majority of servers must hold the cluster key first',
        )
      }
      await delay(clock, keyringPollMs, signal)
    }
  }

  /** What wraps the active key. */
  async activeClusterKey(reader: Reader): Promise<ClusterKey | null> {
    const row = await this.active(reader)
    return row === null ? null : this.keys.get(row.clusterKeyId)
  }

  /** Ids of the cluster keys that the state needs. */
  async needed(reader: Reader): Promise<readonly string[]> {
    return [...new Set((await keysOf(reader)).map(({ clusterKeyId }) => clusterKeyId))]
  }

  seal(key: KeyRow, owner: Owner, items: Items): Buffer {
    return this.#sealer.seal(items, { id: key.id, bytes: this.#unwrap(key) }, owner)
  }

  /** The same for the same row. Throws `unavailable` without the cluster key, `corrupt` for bytes that do not open. */
  open(reader: Reader, row: SealedRow): Items {
    const opened = this.#opened.get(row)
    if (opened !== undefined) return opened
    const key = reader.get(keyring, [row.keyId])
    if (key === undefined) {
      throw new MusterError(
        'corrupt',
        `the keyring has no key ${row.keyId}, which sealed a variable`,
      )
    }
    const items = this.#sealer.open(row.sealed, { id: key.id, bytes: this.#unwrap(key) }, row)
    this.#opened.set(row, items)
    return items
  }

  /** A fresh data key for the keyring, wrapped. */
  makeKey(clusterKey: ClusterKey): NewKey {
    const bytes = randomBytes(keyBytes)
    const id = randomUUID()
    const wrapped = wrapKey(bytes, id, clusterKey)
    bytes.fill(0)
    return { id, clusterKeyId: clusterKey.id, wrapped }
  }

  #unwrap(row: KeyRow): Buffer {
    const known = this.#unwrapped.get(row.id)
    // After a restore, one id may stand for other bytes.
    if (known !== undefined && Buffer.compare(known.wrapped, row.wrapped) === 0) return known.bytes
    const clusterKey = this.keys.get(row.clusterKeyId)
    if (clusterKey === null) throw missingClusterKey(row.clusterKeyId)
    const bytes = unwrapKey(row.wrapped, row.id, clusterKey)
    if (this.#unwrapped.size >= unwrappedMax) this.#unwrapped.clear()
    this.#unwrapped.set(row.id, { wrapped: row.wrapped, bytes })
    return bytes
  }
}
