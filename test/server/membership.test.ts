import t from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { silentLogger } from '../../src/lib/log.ts'
import type { Configuration, Member } from '../../src/raft/core/message.ts'
import type { MembershipChange, RaftStatus } from '../../src/raft/door.ts'
import type { RaftNode } from '../../src/raft/node.ts'
import type { PeerLink } from '../../src/rpc/link.ts'
import {
  identityMethod,
  joinMethod,
  parseSelf,
  ServerMembership,
} from '../../src/server/membership.ts'

const empty: Configuration = { clusterId: '', members: [] }

/** As much of a Raft node as membership looks at. */
class Node {
  configuration = empty
  role: RaftStatus['role'] = 'follower'
  lastIndex = 0
  followers: RaftStatus['followers'] = new Map()
  readonly changes: MembershipChange[] = []
  readonly bootstraps: Configuration[] = []

  status(): RaftStatus {
    const { configuration, role, lastIndex, followers } = this
    return {
      id: 'x',
      role,
      term: lastIndex > 0 ? 1 : 0,
      leaderId: null,
      lastIndex,
      commitIndex: lastIndex,
      appliedIndex: lastIndex,
      settled: role === 'leader',
      transferring: false,
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
  }
}

type Server = { readonly node: Node; readonly membership: ServerMembership }

/** Servers that can call one another by address; those in `down` do not answer. */
function servers(names: readonly string[], options: { down?: readonly string[]; expect?: number }) {
  const all = new Map<string, Server>()
  const peers = names.map((name) => ({ name, address: `${name}:1` }))
  const link: PeerLink = {
    async call({ address }, { method, args }) {
      const name = address.split(':')[0] ?? ''
      const server = all.get(name)
      if (server === undefined || options.down?.includes(name) === true) {
        throw new MusterError('unavailable', 'nothing listens there')
      }
      if (method === identityMethod) return server.membership.identity()
      const joiner = parseSelf(args)
      if (method !== joinMethod || joiner === null) throw new Error('unexpected call')
      return server.membership.join(joiner)
    },
    stop: () => Promise.resolve(),
  }
  for (const name of names) {
    const node = new Node()
    const membership = new ServerMembership({
      self: { id: `id-${name}`, name, address: `${name}:1` },
      peers,
      bootstrapExpect: options.expect ?? names.length,
      node: node as unknown as RaftNode,
      link,
      logger: silentLogger,
      clock: systemClock,
      deadAfterMs: 100,
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
          if (options.down?.includes(name) !== true) await membership.lookAround()
        }
      }
    },
  }
}

const voter = (name: string): Member => ({
  id: `id-${name}`,
  name,
  address: `${name}:1`,
  role: 'voter',
})

t.test('exactly one server begins the cluster, with all that were expected', async (t) => {
  const cluster = servers(['s1', 's2', 's3'], {})
  await cluster.lookAround()
  t.same(
    cluster.get('s1').node.bootstraps.map(({ members }) => members),
    [[voter('s1'), voter('s2'), voter('s3')]],
  )
  for (const name of ['s2', 's3']) t.same(cluster.get(name).node.bootstraps, [], name)
})

t.test('nobody begins while an expected server is missing', async (t) => {
  const cluster = servers(['s1', 's2', 's3'], { down: ['s3'] })
  await cluster.lookAround()
  for (const name of ['s1', 's2']) t.same(cluster.get(name).node.bootstraps, [], name)
})

t.test('a first server that lost its disk joins the others and begins nothing', async (t) => {
  const cluster = servers(['s1', 's2', 's3'], {})
  for (const name of ['s2', 's3']) {
    const { node } = cluster.get(name)
    node.lastIndex = 9
    const old = { ...voter('s1'), id: 'id-of-the-lost-disk' }
    node.configuration = { clusterId: 'c', members: [old, voter('s2'), voter('s3')] }
  }
  const leader = cluster.get('s2').node
  leader.role = 'leader'
  leader.followers = new Map([
    ['id-of-the-lost-disk', { match: 0, state: 'probe', lastContact: -1e6 }],
  ])
  await cluster.lookAround()
  t.same(cluster.get('s1').node.bootstraps, [])
  t.same(leader.changes.slice(0, 2), [
    { type: 'remove', id: 'id-of-the-lost-disk' },
    { type: 'addLearner', member: { id: 'id-s1', name: 's1', address: 's1:1' } },
  ])
})

t.test('a newcomer does not take the name of a live server', async (t) => {
  const cluster = servers(['s1'], { expect: 1 })
  const { node, membership } = cluster.get('s1')
  node.role = 'leader'
  node.configuration = { clusterId: 'c', members: [voter('s1'), voter('s2')] }
  node.followers = new Map([
    ['id-s2', { match: 1, state: 'replicate', lastContact: performance.now() }],
  ])
  const newcomer = { id: 'other', name: 's2', address: 's2:1' }
  await t.rejects(membership.join(newcomer), { code: 'conflict', message: /called s2 already/ })
  t.same(node.changes, [])
})

t.test('a known server at a new address is noted, not added', async (t) => {
  const cluster = servers(['s1'], { expect: 1 })
  const { node, membership } = cluster.get('s1')
  node.role = 'leader'
  node.configuration = { clusterId: 'c', members: [voter('s1'), voter('s2')] }
  const moved = { id: 'id-s2', name: 's2', address: 'elsewhere:1' }
  await membership.join(moved)
  t.same(node.changes, [{ type: 'readdress', member: moved }])
})

t.test('a server that only joins never begins a cluster', async (t) => {
  const cluster = servers(['s1'], { expect: 0 })
  await cluster.lookAround()
  t.same(cluster.get('s1').node.bootstraps, [])
})

t.test('what is no server is refused', async (t) => {
  for (const value of [
    null,
    {},
    { id: '', name: 'a', address: 'a:1' },
    { id: 'i', name: 'a', address: 'a' },
    { id: 'i', name: 'a', address: 'a b:1' },
    { id: 'i'.repeat(65), name: 'a', address: 'a:1' },
  ]) {
    t.equal(parseSelf(value), null, JSON.stringify(value))
  }
})
