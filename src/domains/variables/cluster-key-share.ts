/**
 * How the cluster key gets from server to server: a server that lacks it asks, first the leader, then the others. Nothing of it
 * passes through the log.
 *
 * The first keyring begins only when a majority of the voters says it holds the key: else the loss of one disk could
 * lose every variable. Another key takes over only when a majority was given it by its operator: else servers that were
 * not restarted with it yet would take it back. The request is one of the servers' own calls, never a method that a client can name.
 */
import type { Reader } from '../../fsm/domain.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { onView } from '../host.ts'
import type { ClusterKeyReply, ClusterKeyRequest } from './cluster-key-model.ts'
import { clusterKeyOf, missingClusterKey, type ClusterKey } from './cluster-key.ts'
import type { ClusterKeyring } from './keyring.ts'

/** Of a server's keys so many are looked at. */
const heldMax = 64

/** While something is missing, and when all is well. */
const busyMs = 150
const idleMs = 2_000

/** What this needs of the servers' links and of consensus. Ids are servers' ids. */
export interface ClusterKeyLink {
  /** This server's own id. */
  readonly id: string
  leaderId(): string | null
  /** All voters, this server among them if it is one. */
  voterIds(): readonly string[]
  call(serverId: string, request: ClusterKeyRequest): Promise<ClusterKeyReply>
}

export type ClusterKeyShareOptions = {
  readonly keyring: ClusterKeyring
  readonly link: ClusterKeyLink
  readonly clock: Clock
  readonly log: Logger
  /** This server's state as it is; closed after use. */
  readonly view: () => Reader & { close(): void }
}

export class ClusterKeyShare {
  readonly #options: ClusterKeyShareOptions
  /** By key id, the other servers known to hold it. A leader forgets nothing by being asked again. */
  readonly #holders = new Map<string, Set<string>>()
  /** By the id of another server, the key that its operator gave it. */
  readonly #configured = new Map<string, string>()
  #timer: Timer | null = null
  #running: Promise<void> = Promise.resolve()
  #stopped = false
  #lastFault = ''

  constructor(options: ClusterKeyShareOptions) {
    this.#options = options
  }

  start(): void {
    this.#arm(0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#running
  }

  /** What another server asks. */
  handle(request: ClusterKeyRequest): ClusterKeyReply {
    const { keys } = this.#options.keyring
    // Only voters count, and a new voter asks again: what other processes say is not kept.
    if (this.#options.link.voterIds().includes(request.from)) {
      if (request.configured === undefined) this.#configured.delete(request.from)
      else this.#configured.set(request.from, request.configured)
      for (const id of request.holds.slice(0, heldMax)) {
        if (keys.get(id) === null) continue
        const holders = this.#holders.get(id) ?? new Set()
        this.#holders.set(id, holders.add(request.from))
      }
    }
    const key = request.wanted === null ? this.#candidateAsLeader() : keys.get(request.wanted)
    return { key: key?.bytes ?? null }
  }

  /** Whether a majority of the voters holds the key, counting this server. */
  isHeldByMajority(key: ClusterKey): boolean {
    const { link, keyring } = this.#options
    const voters = link.voterIds()
    const holders = this.#holders.get(key.id) ?? new Set()
    const holding = voters.filter((id) =>
      id === link.id ? keyring.keys.get(key.id) !== null : holders.has(id),
    )
    return holding.length > voters.length / 2
  }

  /** Whether a majority of the voters was given the key by its operator, counting this server. */
  isConfiguredByMajority(key: ClusterKey): boolean {
    const { link, keyring } = this.#options
    const voters = link.voterIds()
    const configured = voters.filter(
      (id) => key.id === (id === link.id ? keyring.keys.configured?.id : this.#configured.get(id)),
    )
    return configured.length > voters.length / 2
  }

  #candidateAsLeader(): ClusterKey | null {
    const { link, keyring } = this.#options
    return link.leaderId() === link.id ? keyring.keys.candidate() : null
  }

  #arm(delayMs: number): void {
    if (this.#stopped) return
    this.#timer = this.#options.clock.setTimer(delayMs, () => {
      this.#running = this.#round().then((settled) => this.#arm(settled ? idleMs : busyMs))
    })
  }

  /** Resolves to whether there is nothing left to do for now. */
  async #round(): Promise<boolean> {
    try {
      const { active, needed } = await this.#look()
      const { keys } = this.#options.keyring
      const missing = needed.filter((id) => keys.get(id) === null)
      if (missing.length > 0) return await this.#fetch(missing)
      if (active === null) return await this.#join()
      if (keys.configured !== null) await this.#replace(keys.configured, active, needed)
      return true
    } catch (error) {
      this.#report(textOf(error))
      return false
    }
  }

  async #look(): Promise<{
    /** The cluster key of the active data key. */
    readonly active: string | null
    readonly needed: readonly string[]
  }> {
    const { keyring } = this.#options
    return onView(this.#options.view, async (view) => ({
      active: (await keyring.active(view))?.clusterKeyId ?? null,
      needed: await keyring.needed(view),
    }))
  }

  /** Tells the leader that there is another key to use, or forgets what it has replaced. */
  async #replace(configured: ClusterKey, active: string, needed: readonly string[]): Promise<void> {
    const { link, keyring, log } = this.#options
    if (configured.id === active) {
      for (const id of await keyring.keys.forgetOthers(needed)) {
        log.info(
          'a cluster key that is not needed here any more was removed from cluster-key.json',
          { clusterKeyId: id },
        )
      }
      return
    }
    const leader = link.leaderId()
    if (leader !== null && leader !== link.id) await this.#ask(leader, configured.id)
  }

  /** Before there is a keyring: takes the leader's key, and tells it so in the next round. */
  async #join(): Promise<boolean> {
    const { link, keyring } = this.#options
    const leader = link.leaderId()
    if (leader === null || leader === link.id) return false
    const reply = await this.#ask(leader, null)
    if (reply !== null && keyring.keys.get(clusterKeyOf(reply).id) === null) {
      await keyring.keys.adopt(reply)
      await this.#ask(leader, null)
    }
    return false
  }

  async #fetch(missing: readonly string[]): Promise<boolean> {
    const { link, keyring, log } = this.#options
    const leader = link.leaderId()
    const others = [...new Set([...(leader === null ? [] : [leader]), ...link.voterIds()])]
    for (const wanted of missing) {
      for (const other of others) {
        if (other === link.id || this.#stopped) continue
        const bytes = await this.#ask(other, wanted).catch(() => null)
        if (bytes === null || clusterKeyOf(bytes).id !== wanted) continue
        await keyring.keys.adopt(bytes)
        log.info('received a cluster key', { clusterKeyId: wanted, from: other })
        break
      }
      if (keyring.keys.get(wanted) === null) this.#report(missingClusterKey(wanted).message)
    }
    return false
  }

  async #ask(serverId: string, wanted: string | null): Promise<Uint8Array | null> {
    const { link, keyring } = this.#options
    const { configured } = keyring.keys
    const reply = await link.call(serverId, {
      from: link.id,
      holds: keyring.keys.ids(),
      ...(configured === null ? {} : { configured: configured.id }),
      wanted,
    })
    return reply.key
  }

  /** Said once, not every round. */
  #report(fault: string): void {
    if (fault === this.#lastFault) return
    this.#lastFault = fault
    this.#options.log.warn('the cluster key is not here yet', { reason: fault })
  }
}
