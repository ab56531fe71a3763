/**
 * How servers with a static list of peers become a cluster and stay one: the first start, joining, promotion,
 * and a new address. Gossip will feed the same decisions later.
 *
 * Invariant: a cluster is begun once. Only the server that is first by name among the expected ones begins it, only
 * with an empty log, and only after every expected server said that it holds nothing either.
 */
import { randomUUID } from 'node:crypto'
import type { Clock, Timer } from '../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Configuration, Member } from '../raft/core/message.ts'
import type { RaftNode } from '../raft/node.ts'
import type { PeerLink } from '../rpc/link.ts'

export type Self = { readonly id: string; readonly name: string; readonly address: string }

export type StaticPeer = { readonly name: string; readonly address: string }

export type Identity = Self & { readonly clusterId: string; readonly holdsData: boolean }

export type MembershipOptions = {
  readonly self: Self
  /** From the configuration file; may name this server itself. */
  readonly peers: readonly StaticPeer[]
  /** Servers that begin a cluster together; 0: this one only ever joins. */
  readonly bootstrapExpect: number
  readonly node: RaftNode
  readonly link: PeerLink
  readonly logger: Logger
  /** The one that the node has: times of contact are compared with it. */
  readonly clock: Clock
  readonly deadAfterMs: number
}

/** Methods between servers; they are no part of the registry that HTTP sees. */
export const identityMethod = 'server.identity'
export const joinMethod = 'server.join'

const roundMs = 300
const callTimeoutMs = 2_000
/** A learner becomes a voter when it was seen this close behind in this many rounds. */
const promoteLagEntriesMax = 100
const promoteRounds = 3

export class ServerMembership {
  readonly #options: MembershipOptions
  readonly #caughtUpRounds = new Map<string, number>()
  #timer: Timer | null = null
  #stopped = false
  #round: Promise<void> = Promise.resolve()
  #said = ''

  constructor(options: MembershipOptions) {
    this.#options = options
  }

  start(): void {
    this.#next(0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#round
  }

  /** Who this server is and whether it holds anything: asked by the others before a cluster begins. */
  identity(): Identity {
    const { configuration, lastIndex, term } = this.#options.node.status()
    return {
      ...this.#options.self,
      clusterId: configuration.clusterId,
      holdsData: lastIndex > 0 || term > 0 || configuration.members.length > 0,
    }
  }

  /** At the leader: takes a server in as a learner, or notes where a known one is now. Rejects with `not_leader`. */
  async join(joiner: Self): Promise<void> {
    const { node, deadAfterMs, clock } = this.#options
    const { configuration, role, followers } = node.status()
    if (role !== 'leader') throw new MusterError('not_leader', 'this server does not lead')
    const known = configuration.members.find(({ id }) => id === joiner.id)
    if (known !== undefined) {
      if (known.name === joiner.name && known.address === joiner.address) return
      await node.changeMembership({ type: 'readdress', member: joiner })
      return
    }
    const namesake = configuration.members.find(({ name }) => name === joiner.name)
    if (namesake !== undefined) {
      const lastContact = followers.get(namesake.id)?.lastContact ?? clock.monotonicMs()
      if (clock.monotonicMs() - lastContact < deadAfterMs) {
        throw new MusterError(
          'conflict',
          `a live server is called ${joiner.name} already: choose another name, or stop that one`,
        )
      }
      // It came back without its data: what carried its name is gone for good.
      await node.changeMembership({ type: 'remove', id: namesake.id })
    }
    await node.changeMembership({ type: 'addLearner', member: joiner })
    this.#options.logger.info('a server joined as a learner', { name: joiner.name })
  }

  #next(delayMs: number): void {
    if (this.#stopped) return
    this.#timer = this.#options.clock.setTimer(delayMs, () => {
      this.#round = this.lookAround()
        .catch((error: unknown) => this.#say('debug', `membership: ${textOf(error)}`))
        .finally(() => this.#next(roundMs))
    })
  }

  /** One look at what is missing: a cluster, a voter, an address. Repeated by a timer once started. */
  async lookAround(): Promise<void> {
    const { node, self } = this.#options
    const { configuration, role, leaderId } = node.status()
    const { members } = configuration
    if (members.length === 0) {
      await this.#find()
      return
    }
    if (role === 'leader') {
      await this.#promote()
      return
    }
    const own = members.find(({ id }) => id === self.id)
    const moved = own !== undefined && (own.address !== self.address || own.name !== self.name)
    if (moved && leaderId !== null) await this.#askToJoin(members)
  }

  /** Without a configuration: joins a cluster that is there, or begins one when nobody has anything. */
  async #find(): Promise<void> {
    const { self, peers, bootstrapExpect, node } = this.#options
    const others = peers.filter(({ name }) => name !== self.name)
    const answers = await Promise.all(others.map((peer) => this.#askIdentity(peer)))
    const known = answers.filter((answer) => answer !== null)
    node.introduce(known)
    const settled = known.filter(({ holdsData, clusterId }) => holdsData && clusterId !== '')
    if (settled.length > 0) {
      await this.#askToJoin(others)
      return
    }
    if (this.identity().holdsData || bootstrapExpect === 0) return
    const names = [self.name, ...others.map(({ name }) => name)].sort()
    if (names[0] !== self.name) return
    if (known.length + 1 < bootstrapExpect || known.some(({ holdsData }) => holdsData)) {
      this.#say('info', `waiting for ${bootstrapExpect - 1 - known.length} more servers to begin`)
      return
    }
    const first = [self, ...known.toSorted((a, b) => (a.name < b.name ? -1 : 1))]
    const members = first
      .slice(0, bootstrapExpect)
      .map(({ id, name, address }): Member => ({ id, name, address, role: 'voter' }))
    const configuration: Configuration = { clusterId: randomUUID(), members }
    await node.bootstrap(configuration)
    this.#options.logger.info('a new cluster begins', {
      cluster: configuration.clusterId,
      servers: members.map(({ name }) => name).join(','),
    })
  }

  async #askIdentity({ name, address }: StaticPeer): Promise<Identity | null> {
    try {
      const answer = parseIdentity(await this.#call(address, identityMethod, {}))
      if (answer !== null && answer.name !== name) {
        this.#say('warn', `the server at ${address} is called ${answer.name}, not ${name}`)
        return null
      }
      return answer
    } catch {
      return null
    }
  }

  /** Asks one after the other until the leader is among them. */
  async #askToJoin(others: readonly { readonly name: string; readonly address: string }[]) {
    const { self } = this.#options
    for (const { name, address } of others) {
      if (name === self.name) continue
      try {
        await this.#call(this.#dialed(name, address), joinMethod, { ...self })
        return
      } catch (error) {
        if (codeOf(error) === 'conflict') this.#say('warn', textOf(error))
      }
    }
  }

  #dialed(name: string, address: string): string {
    return this.#options.peers.find((peer) => peer.name === name)?.address ?? address
  }

  /** A learner that kept up for a while becomes a voter, one at a time. */
  async #promote(): Promise<void> {
    const { node, logger } = this.#options
    const { configuration, followers, lastIndex } = node.status()
    for (const { id, name, role } of configuration.members) {
      if (role !== 'learner') continue
      const match = followers.get(id)?.match ?? 0
      const keepsUp = lastIndex - match <= promoteLagEntriesMax
      const rounds = keepsUp ? (this.#caughtUpRounds.get(id) ?? 0) + 1 : 0
      this.#caughtUpRounds.set(id, rounds)
      if (rounds < promoteRounds) continue
      this.#caughtUpRounds.delete(id)
      await node.changeMembership({ type: 'promote', id })
      logger.info('a server became a voter', { name })
      return
    }
  }

  #call(address: string, method: string, args: unknown): Promise<unknown> {
    return this.#options.link.call(
      { address, id: null },
      { method, args, token: null, remote: '', requestId: method, timeoutMs: callTimeoutMs },
    )
  }

  /** Once, until something else is to be said. */
  #say(level: 'debug' | 'info' | 'warn', text: string): void {
    if (text === this.#said) return
    this.#said = text
    this.#options.logger[level](text)
  }
}

function parseIdentity(value: unknown): Identity | null {
  const self = parseSelf(value)
  if (self === null || typeof value !== 'object' || value === null) return null
  if (!('clusterId' in value) || typeof value.clusterId !== 'string') return null
  if (!('holdsData' in value) || typeof value.holdsData !== 'boolean') return null
  return { ...self, clusterId: value.clusterId, holdsData: value.holdsData }
}

/** Null when it is not a server's id, name and address. */
export function parseSelf(value: unknown): Self | null {
  if (typeof value !== 'object' || value === null) return null
  if (!('id' in value) || !('name' in value) || !('address' in value)) return null
  const { id, name, address } = value
  if (typeof id !== 'string' || typeof name !== 'string' || typeof address !== 'string') return null
  if (id === '' || name === '' || id.length > 64 || name.length > 128) return null
  return /^[^\s]{1,255}:\d{1,5}$/.test(address) ? { id, name, address } : null
}
