/**
 * What the leader does for the keyring, derived from the state in every round, so a new leader goes on where the last
 * one stopped: begin it, replace an active key that is too old or that another cluster key wraps than the operator's, seal
 * anew what an old key sealed, remove old keys that nothing uses.
 */
import type { Reader } from '../../fsm/domain.ts'
import { delay } from '../../lib/async.ts'
import { codeOf, textOf } from '../../lib/errors.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'
import type { ClusterKeyShare } from './cluster-key-share.ts'
import type { ClusterKey } from './cluster-key.ts'
import { resealVariables, resealEntriesMax, type ResealVariables } from './commands.ts'
import type { ClusterKeyring } from './keyring.ts'
import { addKey, removeKey, type AddKey } from './keyring-commands.ts'
import { activeKey, keyAgeMaxMs, keysMax, retiredKeyKeptMs, type KeyRow } from './keyring-model.ts'
import type { SealedRow } from './model.ts'
import { keysOf, sealedItems } from './table.ts'

/** Sealed bytes of one `variables.reseal`. */
export const resealBytesMax = 256 * 1024

/** Between two rounds, and after one that failed. */
const roundMs = 1_000
const retryMs = 2_000
/** Between two batches of re-encryption: writes of clients go first. */
const batchPauseMs = 5

export type KeyringDutyContext = DutyContext & {
  readonly keyring: ClusterKeyring
  readonly share: Pick<ClusterKeyShare, 'isHeldByMajority' | 'isConfiguredByMajority'>
}

export function startDuties(context: KeyringDutyContext): Running {
  const duty = new KeyringDuty(context)
  return periodic({
    ...context,
    failure: 'a round of keyring duties failed',
    everyMs: roundMs,
    retryMs,
    round: (signal) => duty.round(signal),
  })
}

class KeyringDuty {
  readonly #context: KeyringDutyContext
  /** What could not be opened: namespace, path and index of the items; left out until they change. */
  readonly #unreadable = new Set<string>()
  #saidWaiting = false

  constructor(context: KeyringDutyContext) {
    this.#context = context
  }

  async round(signal: AbortSignal): Promise<void> {
    const rows = await onView(this.#context.view, (reader) => keysOf(reader))
    const active = activeKey(rows)
    if (active === null) return this.#begin()
    const { keyring, clock } = this.#context
    const clusterKey = keyring.keys.get(active.clusterKeyId)
    if (clusterKey === null) return
    if (await this.#changeClusterKey(rows, active)) return
    if (clock.wallMs() - active.createTimeMs >= keyAgeMaxMs && rows.length < keysMax) {
      await this.#add(active.id, clusterKey)
      return
    }
    for (const row of rows) {
      if (row.state === 'active' || signal.aborted) continue
      await this.#replace(row, active, signal)
      const idleMs = clock.wallMs() - (row.retiredTimeMs ?? 0)
      if (idleMs >= retiredKeyKeptMs) await this.#remove(row)
    }
  }

  /** Makes a data key that the operator's cluster key wraps, when another one does. Resolves to whether it did. */
  async #changeClusterKey(rows: readonly KeyRow[], active: KeyRow): Promise<boolean> {
    const { keyring, share, log } = this.#context
    const { configured } = keyring.keys
    if (configured === null || configured.id === active.clusterKeyId) return false
    const names = { used: active.clusterKeyId, configured: configured.id }
    if (!share.isConfiguredByMajority(configured)) {
      if (!this.#saidWaiting) {
        log.warn(
          'server.keyring_key_file holds another cluster key than the one in use: it takes over once a majority of the servers has it',
          names,
        )
      }
      this.#saidWaiting = true
      return false
    }
    if (rows.length >= keysMax) return false
    await this.#add(active.id, configured)
    log.info('another cluster key took over', names)
    return true
  }

  async #begin(): Promise<void> {
    const { keyring, share, log } = this.#context
    const clusterKey = await keyring.keys.candidateOrNew()
    if (!share.isHeldByMajority(clusterKey)) return
    await this.#add(null, clusterKey)
    log.info('the keyring began', { clusterKeyId: clusterKey.id })
  }

  async #add(replaces: string | null, clusterKey: ClusterKey): Promise<void> {
    const { keyring, clock } = this.#context
    const timeMs = Math.floor(clock.wallMs())
    const args: AddKey = { ...keyring.makeKey(clusterKey), timeMs, replaces }
    await this.#context.propose(addKey, args)
  }

  /** Seals anew all that `old` sealed, a batch at a time. */
  async #replace(old: KeyRow, active: KeyRow, signal: AbortSignal): Promise<void> {
    let replaced = 0
    while (!signal.aborted) {
      const batch = await onView(this.#context.view, (reader) =>
        this.#nextBatch(reader, old, active),
      )
      if (batch.length === 0) break
      const args: ResealVariables = { entries: batch }
      const { outcome } = await this.#context.propose(resealVariables, args)
      replaced += outcome.replaced
      await delay(this.#context.clock, batchPauseMs, signal)
    }
    if (replaced > 0) {
      this.#context.log.info('variables were sealed with the active key', { old: old.id, replaced })
    }
  }

  async #nextBatch(
    reader: Reader,
    old: KeyRow,
    active: KeyRow,
  ): Promise<ResealVariables['entries']> {
    const { keyring } = this.#context
    const entries: ResealVariables['entries'] = []
    let bytes = 0
    for await (const page of reader.pagesBy(sealedItems, 'key', { prefix: [old.id] })) {
      for (const row of page) {
        if (entries.length >= resealEntriesMax || bytes >= resealBytesMax) return entries
        const sealed = this.#sealAnew(reader, row, active, keyring)
        if (sealed === null) continue
        const { namespace, path, modifyIndex } = row
        entries.push({ namespace, path, modifyIndex, fromKeyId: old.id, keyId: active.id, sealed })
        bytes += sealed.byteLength
      }
    }
    return entries
  }

  #sealAnew(
    reader: Reader,
    row: SealedRow,
    active: KeyRow,
    keyring: ClusterKeyring,
  ): Uint8Array | null {
    const name = `${row.namespace} ${row.path} ${row.modifyIndex}`
    if (this.#unreadable.has(name)) return null
    try {
      return keyring.seal(active, row, keyring.open(reader, row))
    } catch (error) {
      if (codeOf(error) !== 'corrupt') throw error
      this.#unreadable.add(name)
      this.#context.log.error('a variable cannot be sealed with the active key', {
        namespace: row.namespace,
        path: row.path,
        error: textOf(error),
      })
      return null
    }
  }

  async #remove(row: KeyRow): Promise<void> {
    const { outcome } = await this.#context.propose(removeKey, { id: row.id })
    if (outcome.type === 'removed') {
      this.#context.log.info('an unused key was removed', { id: row.id })
    }
  }
}
