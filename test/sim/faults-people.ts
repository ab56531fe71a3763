/** What people do to a cluster: hand over leadership, add servers, promote and remove them, throw machines away. */
import type { ServerId } from '../../src/raft/core/message.ts'
import type { MembershipChange } from '../../src/raft/raft.ts'
import { between, happens, pick, weighted } from './randomness.ts'
import type { SimServer } from './server.ts'
import type { Trouble } from './trouble.ts'
import { memberOf } from './world.ts'

/** Servers there are at once, those about to leave included. */
const serversMax = 7

export function transfer(trouble: Trouble): void {
  const { world, random } = trouble
  const { leader, servers } = world
  if (leader === null) return
  handOver(trouble, leader, happens(random, 0.5) ? null : pick(random, [...servers.keys()]))
}

export function handOver({ world }: Trouble, leader: SimServer, target: ServerId | null): void {
  void world
    .request(leader, 2_000, async ({ running }) => {
      if (running === null) return
      const { scheduler } = world
      const deadlineMs = scheduler.clockOf(running.life).monotonicMs() + 1_000
      await running.node.transferLeadership(target, deadlineMs)
    })
    .then((reply) => world.count(`transfer ${reply.type}`))
}

export function changeMembers(trouble: Trouble): void {
  const { world, random } = trouble
  const { leader, servers } = world
  const status = leader?.status
  if (leader === null || status === null || status === undefined) return
  // Sometimes two people at once.
  if (happens(random, 0.3)) trouble.later(between(random, 0, 10), () => changeMembers(trouble))
  const { members } = status.configuration
  const voters = members.filter(({ role }) => role === 'voter').map(({ id }) => id)
  const learners = members.filter(({ role }) => role === 'learner').map(({ id }) => id)
  const kind = weighted(random, {
    add: servers.size < serversMax ? 3 : 0,
    promote: learners.length > 0 ? 4 : 0,
    removeVoter: voters.length > 2 ? 2 : 0,
    removeLearner: learners.length > 0 ? 0.5 : 0,
    readdress: 0.3,
  })
  switch (kind) {
    case 'add': {
      const server = world.addServer()
      server.start()
      void change(trouble, leader, { type: 'addLearner', member: memberOf(server.id) }).then(
        (done) => {
          // Refused or lost: nobody may ever speak to it; later removals decide by the members then.
          if (!done) trouble.later(1_000, () => maybeThrowAway(trouble, server))
        },
      )
      return
    }
    case 'promote':
      void change(trouble, leader, { type: 'promote', id: pick(random, learners) })
      return
    case 'removeVoter':
      remove(trouble, leader, happens(random, 0.3) ? leader.id : pick(random, voters))
      return
    case 'removeLearner':
      remove(trouble, leader, pick(random, learners))
      return
    case 'readdress':
      void change(trouble, leader, {
        type: 'readdress',
        member: { ...memberOf(pick(random, voters)), address: 'elsewhere:2' },
      })
  }
}

function remove(trouble: Trouble, leader: SimServer, id: ServerId): void {
  const { world, random } = trouble
  void change(trouble, leader, { type: 'remove', id }).then((done) => {
    const server = world.servers.get(id)
    // It goes on for a while, and may disturb.
    if (done && server !== undefined) {
      trouble.later(between(random, 0, 3_000), () => maybeThrowAway(trouble, server))
    }
  })
}

async function change(
  trouble: Trouble,
  leader: SimServer,
  change: MembershipChange,
): Promise<boolean> {
  const { world } = trouble
  const reply = await world.request(leader, 2_000, async ({ running }) => {
    if (running === null) throw new Error('a request reaches running servers only')
    await running.node.changeMembership(change)
  })
  world.trace.add(() => `${leader.id} ${JSON.stringify(change)}: ${reply.type}`)
  if (reply.type === 'ok') world.count(`members: ${change.type}`)
  return reply.type === 'ok'
}

/** Only if it is no member by any configuration that counts or may come to count. */
function maybeThrowAway(trouble: Trouble, server: SimServer): void {
  const { world } = trouble
  const { servers } = world
  if (servers.get(server.id) !== server) return
  const statuses = [...servers.values()].map((other) => other.status)
  const isMember = statuses.some((status) =>
    status?.configuration.members.some(({ id }) => id === server.id),
  )
  // One that is down may know another configuration: then nobody is thrown away.
  if (isMember || statuses.includes(null)) return
  world.destroy(server)
}
