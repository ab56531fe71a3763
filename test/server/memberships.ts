/** Server memberships that call one another in memory, over Raft nodes that are told what to be. */
import { systemClock } from '../../src/lib/clock.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { silentLogger } from '../../src/lib/log.ts'
import type { Configuration, Member } from '../../src/raft/core/message.ts'
import type { MembershipChange, RaftStatus } from '../../src/raft/raft.ts'
import type { Raft } from '../../src/raft/raft.ts'
import type { PeerLink } from '../../src/rpc/link.ts'
import { assert } from '../../src/lib/assert.ts'
import type { AnyPeerMethod, LeaderContext } from '../../src/rpc/method.ts'
import { Services } from '../../src/rpc/services.ts'
import { ServerMembership } from '../../src/server/membership.ts'
import { membershipAnswers, serverMethods } from '../../src/server/peer-methods.ts'
import type { KnownServer, PeerSource } from '../../src/server/peer-source.ts'

const empty: Configuration = { clusterId: '', members: [] }

/** As much of a Raft node as membership looks at. */
class Node {
  configuration = empty
  role: RaftStatus['role'] = 'follower'
  lastIndex = 0
  followers: RaftStatus['followers'] = new Map()
  commandVersion = 1
  leaderId: string | null = null
  onChange: () => void = () => {}
  handOver: () => Promise<void> = async () => {}
  readonly changes: MembershipChange[] = []
  readonly bootstraps: Configuration[] = []

  status(): RaftStatus {
    const { configuration, role, lastIndex, followers } = this
    return {
      id: 'x',
      role,
      term: lastIndex > 0 ? 1 : 0,
      leaderId: this.leaderId,
      lastIndex,
      commitIndex: lastIndex,
      appliedIndex: lastIndex,
      settled: role === 'leader',
      transferring: false,
      electionTimeoutMs: 1_000,
      configuration,
      configurationIndex: 1,
      followers,
    }
  }
  introduce(): void {}
  async bootstrap(configuration: Configuration): Promise<void> {
    this.bootstraps.push(configuration)
    this.configuration = configuration
    this.lastIndex = 1
  }
  async changeMembership(change: MembershipChange): Promise<void> {
    this.changes.push(change)
    this.onChange()
  }
}

export type Server = { readonly node: Node; readonly membership: ServerMembership }

type Options = {
  readonly down?: readonly string[]
  readonly expect?: number
  /** What a server sees, where it does not see everything. */
  readonly sees?: Readonly<Record<string, readonly string[]>>
  readonly regions?: Readonly<Record<string, string>>
  readonly presenceIsMembership?: boolean
  /** Ids of servers that autopilot finds dead and replaced. */
  readonly dead?: readonly string[]
  /** The newest command version that a server's program knows; 1 unless said. */
  readonly programs?: Readonly<Record<string, number>>
}

/** As the dispatcher of that server would. */
export async function answer(
  membership: ServerMembership,
  name: string,
  args: unknown,
): Promise<unknown> {
  const method: AnyPeerMethod | undefined = serverMethods.find((known) => known.name === name)
  assert(method !== undefined, `no method is called ${name}`)
  method.check(args)
  const services = new Services()
  services.provide(membershipAnswers, membership)
  return method.run({ service: services.get } as LeaderContext, args as never)
}

/** Servers that can call one another by address; those in `down` do not answer. */
export function servers(names: readonly string[], options: Options) {
  const { down = [], sees = {}, regions = {}, expect = names.length } = options
  const all = new Map<string, Server>()
  const link: PeerLink = {
    async call({ address }, { method, args }) {
      const name = address.split(':')[0] ?? ''
      const server = all.get(name)
      if (server === undefined || down.includes(name)) {
        throw new MusterError('unavailable', 'nothing listens there')
      }
      return answer(server.membership, method, args)
    },
    stop: () => Promise.resolve(),
  }
  for (const name of names) {
    const node = new Node()
    const seen = (sees[name] ?? names).map((other): KnownServer => ({
      name: other,
      address: `${other}:1`,
      expect: null,
    }))
    const source: PeerSource = {
      servers: () => seen,
      addressOf: () => null,
      look: () => {},
      presenceIsMembership: options.presenceIsMembership ?? false,
    }
    const membership = new ServerMembership({
      self: { id: `id-${name}`, name, address: `${name}:1` },
      region: regions[name] ?? 'r',
      source,
      gossip: () => null,
      bootstrapExpect: expect,
      node: node as unknown as Raft,
      link,
      logger: silentLogger,
      clock: systemClock,
      deadAfterMs: 100,
      versions: {
        own: options.programs?.[name] ?? 1,
        cluster: () => node.commandVersion,
        raise: async (version) => {
          node.commandVersion = version
        },
      },
      handOver: () => node.handOver(),
      autopilot: {
        observe() {},
        isStable: () => false,
        dead: () => options.dead ?? [],
        removed() {},
      },
    })
    all.set(name, { node, membership })
  }
  return {
    get: (name: string): Server => {
      const server = all.get(name)
      if (server === undefined) throw new Error(name)
      return server
    },
    /** Every server that is up looks around, three times in turn. */
    async lookAround(): Promise<void> {
      for (let round = 0; round < 3; round += 1) {
        for (const [name, { membership }] of all) {
          if (!down.includes(name)) await membership.lookAround()
        }
      }
    },
  }
}

/** A server alone that leads a cluster of these voters. */
export function leading(members: readonly string[], options: Options = {}): Server {
  const server = servers(['s1'], { expect: 1, ...options }).get('s1')
  server.node.role = 'leader'
  server.node.configuration = { clusterId: 'c', members: members.map(voter) }
  return server
}

export const voter = (name: string): Member => ({
  id: `id-${name}`,
  name,
  address: `${name}:1`,
  role: 'voter',
})
