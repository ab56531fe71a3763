import t from 'tap'
import { MusterError } from '../../src/lib/errors.ts'
import type { RaftStatus } from '../../src/raft/raft.ts'
import { Validator } from '../../src/fsm/validator.ts'
import { Self } from '../../src/server/self.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { answer, leading, servers, voter, type Server } from './memberships.ts'

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
  const { node, membership } = leading(['s1', 's2'])
  node.followers = new Map([
    ['id-s2', { match: 1, state: 'replicate', lastContact: performance.now() }],
  ])
  const newcomer = {
    id: 'other',
    name: 's2',
    address: 's2:1',
    region: 'r',
    clusterId: '',
    commandVersion: 1,
  }
  await t.rejects(membership.join(newcomer), { code: 'conflict', message: /called s2 already/ })
  t.same(node.changes, [])
})

t.test('a known server at a new address is noted, not added', async (t) => {
  const { node, membership } = leading(['s1', 's2'])
  const moved = { id: 'id-s2', name: 's2', address: 'elsewhere:1' }
  await membership.join({ ...moved, region: 'r', clusterId: 'c', commandVersion: 1 })
  t.same(node.changes, [{ type: 'readdress', member: moved }])
})

t.test('a server that is elected at a new address notes it itself', async (t) => {
  const { node, membership } = leading(['s1', 's2'])
  await membership.lookAround()
  t.same(node.changes, [], 'where it was is where it is')
  node.configuration = {
    ...node.configuration,
    members: node.configuration.members.map((member) => ({ ...member, address: 'before:1' })),
  }
  await membership.lookAround()
  t.same(node.changes, [
    { type: 'readdress', member: { id: 'id-s1', name: 's1', address: 's1:1' } },
  ])
})

t.test('a server that only joins never begins a cluster', async (t) => {
  const cluster = servers(['s1'], { expect: 0 })
  await cluster.lookAround()
  t.same(cluster.get('s1').node.bootstraps, [])
})

t.test('two servers with different views never begin two clusters', async (t) => {
  const cluster = servers(['s1', 's2', 's3'], {
    expect: 2,
    sees: { s1: ['s1', 's3'], s2: ['s2', 's3'], s3: ['s3'] },
  })
  await Promise.all(['s1', 's2'].map((name) => cluster.get(name).membership.lookAround()))
  const begun = ['s1', 's2', 's3'].flatMap((name) => cluster.get(name).node.bootstraps)
  t.equal(begun.length, 1)
})

t.test('servers of another region are no founders, and do not join', async (t) => {
  const cluster = servers(['s1', 's2', 's3'], { expect: 3, regions: { s3: 'far' } })
  await cluster.lookAround()
  for (const name of ['s1', 's2', 's3']) t.same(cluster.get(name).node.bootstraps, [], name)
  const { node, membership } = cluster.get('s1')
  node.role = 'leader'
  node.configuration = { clusterId: 'c', members: [voter('s1')] }
  const joiner = {
    id: 'id-s3',
    name: 's3',
    address: 's3:1',
    region: 'far',
    clusterId: '',
    commandVersion: 1,
  }
  await t.rejects(membership.join(joiner), { code: 'conflict', message: /region far/ })
  await t.rejects(membership.join({ ...joiner, region: 'r', clusterId: 'd' }), {
    code: 'conflict',
    message: /member of another cluster/,
  })
  t.same(node.changes, [])
})

t.test('a server that was removed and is here asks to be taken back', async (t) => {
  for (const presenceIsMembership of [true, false]) {
    const cluster = servers(['s1', 's2'], { presenceIsMembership })
    const leader = cluster.get('s1').node
    leader.role = 'leader'
    leader.configuration = { clusterId: 'c', members: [voter('s1')] }
    const removed = cluster.get('s2')
    removed.node.lastIndex = 5
    removed.node.configuration = { clusterId: 'c', members: [voter('s1'), voter('s2')] }
    for (let round = 0; round < 10; round += 1) await removed.membership.lookAround()
    const { role: _role, ...member } = voter('s2')
    t.same(leader.changes, presenceIsMembership ? [{ type: 'addLearner', member }] : [])
  }
})

/** Heard of `agoMs` ago, one after the other in the order of their names. */
function heard(names: readonly string[], agoMs = 0): RaftStatus['followers'] {
  const lastContact = performance.now() - agoMs
  return new Map(
    names.map((name) => [`id-${name}`, { match: 1, state: 'replicate' as const, lastContact }]),
  )
}

/** What the leader changes while `s2` leaves it. */
async function removedWhile({ node, membership }: Server, left: Promise<void>) {
  node.onChange = () => {
    node.configuration = { clusterId: 'c', members: ['s1', 's3'].map(voter) }
  }
  await eventuallyTrue('it is removed', async () => {
    node.followers = heard(['s2', 's3'])
    await membership.lookAround()
    return node.changes.length > 0
  })
  await left
  return node.changes
}

t.test('a server is removed by its own word, which is confirmed at its address', async (t) => {
  const cluster = servers(['s1', 's2', 's3'], {})
  const { node, membership } = cluster.get('s1')
  const configuration = { clusterId: 'c', members: ['s1', 's2', 's3'].map(voter) }
  for (const name of ['s1', 's2', 's3']) cluster.get(name).node.configuration = configuration
  node.role = 'leader'
  node.followers = heard(['s2', 's3'])
  const leave = (id: unknown) => answer(membership, 'server.leave', { id })
  await t.rejects(leave('id-s2'), { code: 'conflict', message: /s2 does not say that it leaves/ })
  await membership.lookAround()
  t.same(node.changes, [], 'anyone may say so')
  for (const args of [null, {}, { id: 7 }, { id: '' }, { id: 'i'.repeat(65) }]) {
    await t.rejects(answer(membership, 'server.leave', args), { code: 'invalid_argument' })
  }
  t.match(await leave('unknown'), { removed: true })

  const leaver = cluster.get('s2')
  leaver.node.leaderId = 'id-s1'
  const left = leaver.membership.leave()
  t.same(await removedWhile(cluster.get('s1'), left), [{ type: 'remove', id: 'id-s2' }])
  await t.rejects(answer(cluster.get('s3').membership, 'server.leave', { id: 'id-s2' }), {
    code: 'not_leader',
  })
})

t.test('a server that leads while it leaves hands over first, and is removed', async (t) => {
  const cluster = servers(['s1', 's2', 's3'], { expect: 3 })
  const { node } = cluster.get('s1')
  const leaver = cluster.get('s2')
  const configuration = { clusterId: 'c', members: ['s1', 's2', 's3'].map(voter) }
  for (const name of ['s1', 's2', 's3']) cluster.get(name).node.configuration = configuration
  leaver.node.role = 'leader'
  leaver.node.leaderId = 'id-s2'
  leaver.node.handOver = async () => {
    leaver.node.role = 'follower'
    leaver.node.leaderId = 'id-s1'
    node.role = 'leader'
    node.followers = heard(['s2', 's3'])
  }
  const left = leaver.membership.leave()
  t.same(await removedWhile(cluster.get('s1'), left), [{ type: 'remove', id: 'id-s2' }])
})

t.test('a server that leaves stays a voter where too few would remain', async (t) => {
  const cluster = servers(['s1', 's2', 's3'], { expect: 3 })
  const { node, membership } = cluster.get('s1')
  const of = (names: readonly string[]) => ({ clusterId: 'c', members: names.map(voter) })
  node.configuration = of(['s1', 's2'])
  node.role = 'leader'
  node.followers = heard(['s2'])
  const leaver = cluster.get('s2')
  leaver.node.configuration = node.configuration
  leaver.node.leaderId = 'id-s1'
  await leaver.membership.leave()
  await membership.lookAround()
  t.same(node.changes, [], 'of three configured ones, one alone would be left')
  node.configuration = of(['s1', 's2', 's3'])
  node.followers = heard(['s2', 's3'])
  await membership.lookAround()
  t.same(node.changes, [{ type: 'remove', id: 'id-s2' }], 'another one came')
})

t.test(
  'a server that an operator gave up goes once it is silent, and not if it answers',
  async (t) => {
    const cluster = servers(['s1', 's2', 's3', 's4', 's5'], { expect: 3 })
    const { node, membership } = cluster.get('s1')
    const members = ['s1', 's2', 's3', 's4', 's5'].map(voter)
    node.configuration = { clusterId: 'c', members }
    node.role = 'leader'
    node.followers = heard(['s2', 's3', 's4', 's5'])
    await membership.giveUp('s2')
    await membership.giveUp('nobody')
    await membership.lookAround()
    t.same(node.changes, [], 'it answers')
    node.followers = new Map([...heard(['s3', 's4', 's5']), ...heard(['s2'], 60_000)])
    await membership.lookAround()
    t.same(node.changes, [{ type: 'remove', id: 'id-s2' }])

    // Said elsewhere, it is handed on to the leader, who is asked again until it is there.
    const other = cluster.get('s3')
    other.node.configuration = { clusterId: 'c', members }
    await other.membership.giveUp('s4')
    node.followers = new Map([...heard(['s3', 's5']), ...heard(['s4'], 60_000)])
    other.node.leaderId = 'id-s1'
    await other.membership.lookAround()
    await membership.lookAround()
    t.same(node.changes.slice(1), [{ type: 'remove', id: 'id-s4' }])
    node.followers = heard(['s2', 's3', 's4', 's5'])
    await t.rejects(answer(membership, 'server.giveUp', { id: 'id-s5' }), {
      code: 'conflict',
      message: /s5 answers Raft/,
    })
    await t.rejects(answer(membership, 'server.giveUp', { id: 'id-s9' }), { code: 'not_found' })
  },
)

t.test('a note about a server that is heard of again is forgotten', async (t) => {
  const { node, membership } = leading(['s1', 's2', 's3'])
  node.followers = new Map([...heard(['s3']), ...heard(['s2'], 60_000)])
  node.changeMembership = () =>
    Promise.reject(new MusterError('conflict', 'another one is under way'))
  await membership.giveUp('s2')
  await membership.lookAround().catch(() => {})
  node.followers = new Map(
    ['s2', 's3'].map((name) => [
      `id-${name}`,
      { match: 1, state: 'replicate' as const, lastContact: performance.now() + 1 },
    ]),
  )
  await membership.lookAround()
  node.followers = new Map([...heard(['s3']), ...heard(['s2'], 60_000)])
  let removals = 0
  node.changeMembership = async () => {
    removals += 1
  }
  await membership.lookAround()
  t.equal(removals, 0)
})

t.test('dead servers are removed one at a time, silent ones only, down to a quorum', async (t) => {
  const dead = ['id-s3', 'id-s2', 'id-s1']
  const { node, membership } = leading(['s1', 's2', 's3', 's4', 's5'], { dead })
  node.followers = heard(['s4'])
  await membership.lookAround()
  t.same(node.changes, [], 'of four that would remain, two are not a majority')
  node.followers = heard(['s2', 's3', 's4', 's5'])
  await membership.lookAround()
  t.same(node.changes, [], 'all of them answer')
  node.followers = heard(['s4', 's5'])
  await membership.lookAround()
  t.same(node.changes, [{ type: 'remove', id: 'id-s2' }])
  node.configuration = { clusterId: 'c', members: ['s1', 's3', 's4'].map(voter) }
  await membership.lookAround()
  t.equal(node.changes.length, 1, 'of five voters, two are no quorum')
})

t.test('a cluster runs at the lowest command version of its servers', async (t) => {
  const programs: Record<string, number> = { s1: 3, s2: 2, s3: 1 }
  const down: string[] = []
  const cluster = servers(['s1', 's2', 's3', 's4'], { programs, down })
  const { node, membership } = cluster.get('s1')
  node.role = 'leader'
  node.configuration = { clusterId: 'c', members: ['s1', 's2', 's3'].map(voter) }
  const rounds = async () => {
    for (let round = 0; round < 10; round += 1) await membership.lookAround().catch(() => {})
    return node.commandVersion
  }
  t.equal(await rounds(), 1, 'one knows no more')
  node.configuration = { clusterId: 'c', members: ['s1', 's2'].map(voter) }
  down.push('s2')
  t.equal(await rounds(), 1, 'one does not answer')
  down.pop()
  t.equal(await rounds(), 2)
  const older = { id: 'id-s4', name: 's4', address: 's4:1', region: 'r', clusterId: '' }
  await t.rejects(membership.join({ ...older, commandVersion: 1 }), {
    code: 'conflict',
    message: /up to version 1, this cluster runs at 2/,
  })
  t.same(node.changes, [])
  await membership.join({ ...older, commandVersion: 2 })
  t.match(node.changes, [{ type: 'addLearner' }])
})

t.test('what is no server is refused', async (t) => {
  const isSelf = new Validator(Self)
  for (const value of [
    null,
    {},
    { id: '', name: 'a', address: 'a:1' },
    { id: 'i', name: 'a', address: 'a' },
    { id: 'i', name: 'a', address: 'a b:1' },
    { id: 'i'.repeat(65), name: 'a', address: 'a:1' },
  ]) {
    t.notOk(isSelf.accepts(value), JSON.stringify(value))
  }
})
