/**
 * How servers become a cluster and stay one: the first start, joining, promotion, a new address; `departing.ts` has how
 * they go. What it knows of others comes from a `PeerSource`, and is acted on by the leader that the Raft log names.
 *
 * Invariants: a cluster is begun once (`bootstrap.ts`); a server of another cluster or region is never taken in; what gossip
 * says neither adds, moves nor removes a member of the Raft configuration.
 */
import type { Static, TSchema } from 'typebox'
import type { Clock, Timer } from '../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Raft } from '../raft/raft.ts'
import type { PeerLink } from '../rpc/link.ts'
import type { PeerMethod } from '../rpc/method.ts'
import { callPeer } from '../rpc/peer-call.ts'
import type { Autopilot } from './autopilot.ts'
import { Departing } from './departing.ts'
import { findCluster } from './bootstrap.ts'
import { BootstrapGrants, type GrantAnswer, type GrantRequest } from './bootstrap-grants.ts'
import {
  grantMethod,
  identityMethod,
  joinMethod,
  type CallMember,
  type Left,
  type MembershipAnswers,
} from './peer-methods.ts'
import type { KnownServer, PeerSource } from './peer-source.ts'
import { versionOf, type Identity, type Joiner, type Self } from './self.ts'

export type MembershipOptions = {
  readonly self: Self
  readonly region: string
  readonly source: PeerSource
  /** Where this server's gossip is reached; null: it has none. */
  readonly gossip: () => string | null
  /** Servers that begin a cluster together; 0: this one only ever joins. */
  readonly bootstrapExpect: number
  readonly node: Raft
  readonly link: PeerLink
  readonly logger: Logger
  /** The one that the node has: times of contact are compared with it. */
  readonly clock: Clock
  readonly deadAfterMs: number
  /** Gives leadership to another voter. Never rejects. */
  readonly handOver: () => Promise<void>
  readonly versions: CommandVersions
  /** Whom the leader finds fit to vote, and who is dead and replaced. */
  readonly autopilot: Pick<Autopilot, 'observe' | 'isStable' | 'dead' | 'removed'>
}

/** The command version that the cluster runs at, see `fsm/cluster-version.ts`. */
export type CommandVersions = {
  /** The newest that this program knows. */
  readonly own: number
  readonly cluster: () => number
  /** At the leader: an entry that raises it. */
  readonly raise: (version: number) => Promise<void>
}

const roundMs = 300
/** Of a follower that knows its leader. */
const settledRoundMs = 1_000
const callTimeoutMs = 2_000
/** A server with data that heard of no leader in this many rounds asks whether it still belongs to the cluster. */
const strandedRounds = 10
/** So often the leader of a cluster that runs below its own version asks the others for theirs. */
const versionRounds = 10

export class ServerMembership implements MembershipAnswers {
  readonly #options: MembershipOptions
  readonly #grants: BootstrapGrants
  readonly #departing: Departing
  #leaderlessRounds = 0
  #leaderRounds = 0
  #timer: Timer | null = null
  #stopped = false
  #round: Promise<void> = Promise.resolve()
  #said = ''

  constructor(options: MembershipOptions) {
    this.#options = options
    this.#grants = new BootstrapGrants({
      region: options.region,
      expect: options.bootstrapExpect,
      holdsData: () => this.#holdsData(),
      clock: options.clock,
    })
    this.#departing = new Departing({
      ...options,
      call: this.#callMember,
      say: (level, text) => this.#say(level, text),
    })
  }

  start(): void {
    this.#next(0)
  }

  /** As `start`, with the first look done when this resolves: a server that begins a cluster by itself has its id then. */
  async begin(): Promise<void> {
    this.#round = this.#look()
    await this.#round
    this.#next(roundMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#round
  }

  /** Leaves the cluster for good, and takes part in membership no longer. Never rejects; takes a few seconds at most. */
  async leave(): Promise<void> {
    // A server that leaves must not ask to be taken back.
    await this.stop()
    await this.#departing.leave()
  }

  /** By an operator's word, for a server's name without the region: it is removed while it does not answer Raft. */
  giveUp(name: string): Promise<void> {
    return this.#departing.giveUp(name)
  }

  /** Whether a server answers at an address, with this id. Never rejects. */
  async answersAt(address: string, id: string): Promise<boolean> {
    try {
      return (await this.#identityAt(address, id)).id === id
    } catch {
      return false
    }
  }

  grant(request: GrantRequest): GrantAnswer {
    return this.#grants.ask(request)
  }

  left(id: string): Promise<Left> {
    return this.#departing.left(id)
  }

  givenUp(id: string): void {
    this.#departing.givenUp(id)
  }

  /** Who this server is and whether it holds anything: asked by the others before a cluster begins. */
  identity(): Identity {
    const { self, region, node, gossip, versions } = this.#options
    const { clusterId, succession } = node.status().configuration
    return {
      ...self,
      region,
      clusterId,
      commandVersion: versions.own,
      predecessors: succession?.predecessors ?? [],
      holdsData: this.#holdsData(),
      gossip: gossip(),
      leaving: this.#departing.leaving,
    }
  }

  /** Where the gossip of the other members is, from those that answer now. */
  async gossipOfMembers(): Promise<readonly string[]> {
    const { node, self, region } = this.#options
    const others = node.status().configuration.members.filter(({ id }) => id !== self.id)
    const found = await Promise.all(
      others.map(async (member) => {
        try {
          const address = this.#dialed(member)
          const { region: own, gossip = null } = await this.#identityAt(address, null)
          return own === region ? gossip : null
        } catch {
          return null
        }
      }),
    )
    return found.filter((gossip) => gossip !== null)
  }

  /** At the leader: takes a server in as a learner, or notes where a known one is now. Rejects with `not_leader`. */
  async join(joiner: Joiner): Promise<void> {
    const { node, deadAfterMs, clock, region, versions } = this.#options
    const { configuration, role, followers } = node.status()
    if (role !== 'leader') throw new MusterError('not_leader', 'this server does not lead')
    const { id, name, address } = joiner
    if (joiner.region !== region) {
      throw new MusterError(
        'conflict',
        `${name} is of region ${joiner.region}, this cluster of region ${region}`,
      )
    }
    if (joiner.clusterId !== '' && joiner.clusterId !== configuration.clusterId) {
      throw new MusterError(
        'conflict',
        `${name} is a member of another cluster: to join this one it needs an empty data folder`,
      )
    }
    if (versionOf(joiner) < versions.cluster()) {
      throw new MusterError(
        'conflict',
        `the program of ${name} knows commands up to version ${versionOf(joiner)}, this cluster runs at ${versions.cluster()}: start a newer one there`,
      )
    }
    this.#departing.isBack(id)
    const self: Self = { id, name, address }
    const known = configuration.members.find((member) => member.id === id)
    if (known !== undefined) {
      if (known.name === name && known.address === address) return
      await node.changeMembership({ type: 'readdress', member: self })
      return
    }
    const namesake = configuration.members.find((member) => member.name === name)
    if (namesake !== undefined) {
      const lastContact = followers.get(namesake.id)?.lastContact ?? clock.monotonicMs()
      if (clock.monotonicMs() - lastContact < deadAfterMs) {
        throw new MusterError(
          'conflict',
          `a live server is called ${name} already: choose another name, or stop that one`,
        )
      }
      // It came back without its data: what carried its name is gone for good.
      await node.changeMembership({ type: 'remove', id: namesake.id })
    }
    await node.changeMembership({ type: 'addLearner', member: self })
    this.#options.logger.info('a server joined as a learner', { name })
  }

  #next(delayMs: number): void {
    if (this.#stopped) return
    this.#timer = this.#options.clock.setTimer(delayMs, () => {
      this.#round = this.#look().finally(() => this.#next(this.#pauseMs()))
    })
  }

  #pauseMs(): number {
    const { role, leaderId } = this.#options.node.status()
    return role === 'follower' && leaderId !== null ? settledRoundMs : roundMs
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    await this.lookAround().catch((error: unknown) => {
      this.#say('debug', `membership: ${textOf(error)}`)
    })
  }

  /** One look at what is missing: a cluster, a voter, an address. Repeated by a timer once started. */
  async lookAround(): Promise<void> {
    const { node, self, source, autopilot } = this.#options
    const { configuration, role, leaderId } = node.status()
    const { members } = configuration
    autopilot.observe()
    this.#departing.observe()
    source.look()
    if (members.length === 0) {
      await this.#find()
      return
    }
    this.#leaderlessRounds = leaderId === null ? this.#leaderlessRounds + 1 : 0
    const own = members.find(({ id }) => id === self.id)
    const moved = own !== undefined && (own.address !== self.address || own.name !== self.name)
    if (role === 'leader') {
      // It may have been elected before it could tell a leader where it is now.
      if (moved) await node.changeMembership({ type: 'readdress', member: self })
      await this.#promote()
      await this.#departing.removeDeparted()
      await this.#raiseVersion()
      return
    }
    await this.#departing.handOn()
    if (moved && leaderId !== null) {
      await this.#askToJoin(members)
    } else if (source.presenceIsMembership && this.#leaderlessRounds >= strandedRounds) {
      // Nobody tells a server that it was removed. A leader that knows it has nothing to do.
      this.#leaderlessRounds = 0
      await this.#askToJoin([...members, ...source.servers()])
    }
  }

  /** Without a configuration: joins a cluster that is there, or begins one when nobody has anything. */
  async #find(): Promise<void> {
    const { self, region, source, bootstrapExpect, node, clock, logger } = this.#options
    const found = await findCluster({
      self,
      region,
      source,
      bootstrapExpect,
      node,
      clock,
      grants: this.#grants,
      holdsData: () => this.#holdsData(),
      identityAt: (address) => this.#identityAt(address, null),
      callGrant: (server, request) => this.#callMember(server, grantMethod, request),
      say: (level, text) => this.#say(level, text),
    })
    if (found.type === 'join') await this.#askToJoin([...found.servers, ...source.servers()])
    if (found.type === 'begun') {
      const { clusterId, members } = found.configuration
      logger.info('a new cluster begins', {
        cluster: clusterId,
        servers: members.map(({ name }) => name).join(','),
      })
    }
  }

  /** Asks one after the other until the leader is among them. */
  async #askToJoin(others: readonly (Self | KnownServer)[]): Promise<void> {
    const { self, region, node, versions } = this.#options
    const { clusterId } = node.status().configuration
    const joiner: Joiner = { ...self, region, clusterId, commandVersion: versions.own }
    const asked = new Set<string>()
    for (const other of others) {
      const address = 'id' in other ? this.#dialed(other) : other.address
      if (other.name === self.name || asked.has(address)) continue
      asked.add(address)
      try {
        await this.#call(address, null, joinMethod, joiner)
        return
      } catch (error) {
        if (codeOf(error) === 'conflict') this.#say('warn', textOf(error))
      }
    }
  }

  #dialed(member: Self): string {
    return this.#options.source.addressOf(member) ?? member.address
  }

  /** A learner that is well for a while becomes a voter, one at a time. */
  async #promote(): Promise<void> {
    const { node, autopilot, logger } = this.#options
    for (const { id, name, role } of node.status().configuration.members) {
      if (role !== 'learner' || !autopilot.isStable(id)) continue
      await node.changeMembership({ type: 'promote', id })
      logger.info('a server became a voter', { name })
      return
    }
  }

  /** As far as all members' programs go. Each has to answer: one that is away may come back as an older program. */
  async #raiseVersion(): Promise<void> {
    const { node, self, versions, logger } = this.#options
    // Due in the first round, too: a new cluster begins at the first version.
    const isDue = this.#leaderRounds % versionRounds === 0
    this.#leaderRounds += 1
    if (!isDue || versions.cluster() >= versions.own) return
    const { configuration } = node.status()
    const others = configuration.members.filter(({ id }) => id !== self.id)
    const known = await Promise.all(others.map((member) => this.#versionOf(member)))
    const lowest = Math.min(versions.own, ...known)
    // Who has joined meanwhile was not asked.
    if (lowest <= versions.cluster() || node.status().configuration !== configuration) return
    await versions.raise(lowest)
    logger.info('all servers know newer commands', { version: lowest })
  }

  async #versionOf(member: Self): Promise<number> {
    return versionOf(await this.#callMember(member, identityMethod, {}))
  }

  #holdsData(): boolean {
    const { configuration, lastIndex, term } = this.#options.node.status()
    return lastIndex > 0 || term > 0 || configuration.members.length > 0
  }

  #identityAt(address: string, id: string | null): Promise<Identity> {
    return this.#call(address, id, identityMethod, {})
  }

  readonly #callMember: CallMember = (member, method, args) =>
    this.#call(this.#dialed(member), member.id, method, args)

  #call<Args extends TSchema, Reply extends TSchema>(
    address: string,
    id: string | null,
    method: PeerMethod<Args, Reply>,
    args: Static<Args>,
  ): Promise<Static<Reply>> {
    return callPeer(this.#options.link, { address, id }, method, args, callTimeoutMs)
  }

  /** Once, until something else is to be said. */
  #say(level: 'debug' | 'info' | 'warn', text: string): void {
    if (text === this.#said) return
    this.#said = text
    this.#options.logger[level](text)
  }
}
