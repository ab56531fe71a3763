/** Ways to make a leader trust a lease that others no longer honour. */
import type { ServerId } from '../../src/raft/core/message.ts'
import { between, happens, pick, shuffled, weighted } from './randomness.ts'
import { handOver, transfer } from './faults-people.ts'
import type { SimServer } from './server.ts'
import type { Trouble } from './trouble.ts'

export function breakLease(trouble: Trouble): void {
  const { world, random } = trouble
  const { leader } = world
  const status = leader?.status
  if (leader === null || status === null || status === undefined) return
  const voters = status.configuration.members.filter(({ role }) => role === 'voter')
  const others = shuffled(
    random,
    voters.map(({ id }) => id).filter((id) => id !== leader.id),
  )
  switch (weighted(random, { restart: 3, transfer: 2, sleep: 2, loss: 2 })) {
    case 'restart':
      restartVoters(trouble, leader, others)
      return
    case 'transfer':
      transferAndCut(trouble, leader, others)
      return
    case 'sleep':
      sleepThrough(trouble, leader, others)
      return
    case 'loss':
      patientLeader(trouble, leader, (patient, followers) =>
        loseOthers(trouble, patient, followers),
      )
  }
}

/** One of the timeouts in force among these servers, or the shortest or the first of the plan. */
function timeoutMs({ world, random }: Trouble, of: readonly ServerId[]): number {
  const inForce = of.flatMap((id) => world.servers.get(id)?.status?.electionTimeoutMs ?? [])
  if (inForce.length > 0 && happens(random, 0.7)) return pick(random, inForce)
  const { electionMs, adaptive } = world.plan.timing
  return adaptive !== null && happens(random, 0.6) ? adaptive.minMs : electionMs
}

/** Hands over to the server with the longest timeout: it takes itself for the leader longest. */
function patientLeader(
  trouble: Trouble,
  leader: SimServer,
  then: (leader: SimServer, others: readonly ServerId[]) => void,
): void {
  const { world, random } = trouble
  const running = world.running.filter(({ status }) =>
    status?.configuration.members.some(({ id, role }) => id === status.id && role === 'voter'),
  )
  const timeoutOf = ({ status }: SimServer) => status?.electionTimeoutMs ?? 0
  const patient = running.toSorted((a, b) => timeoutOf(b) - timeoutOf(a))[0] ?? leader
  if (patient !== leader) handOver(trouble, leader, patient.id)
  trouble.later(patient === leader ? 0 : between(random, 60, 200), () => {
    const present = world.leader
    if (present === null) return
    then(
      present,
      running.map(({ id }) => id).filter((id) => id !== present.id),
    )
  })
}

/** The leader hears and reaches nobody but clients, which go on asking it while another is elected. */
function loseOthers(trouble: Trouble, leader: SimServer, others: readonly ServerId[]): void {
  const { world, random } = trouble
  const { network } = world
  world.suspect = leader.id
  for (const id of others) {
    network.cut(leader.id, id)
    network.cut(id, leader.id)
  }
  trouble.later(between(random, 1, 3) * timeoutMs(trouble, [leader.id]), () => {
    world.suspect = null
    for (const id of others) {
      network.heal(leader.id, id)
      network.heal(id, leader.id)
    }
  })
}

/** The leader wakes up when another was elected, and hears of it only later. */
function sleepThrough(trouble: Trouble, leader: SimServer, others: readonly ServerId[]): void {
  const { world, random } = trouble
  const { network } = world
  const forMs = between(random, 1.1, 2.4) * timeoutMs(trouble, others)
  world.suspect = leader.id
  if (happens(random, 0.5)) leader.suspend(forMs)
  else leader.freeze(forMs)
  for (const id of others) network.cut(id, leader.id)
  trouble.later(forMs + between(random, 1, 50), () => {
    world.suspect = null
    for (const id of others) network.heal(id, leader.id)
  })
}

/**
 * The leader keeps the barest majority, and just as others lose patience those voters start anew: whatever they
 * promised by word of mouth is forgotten, while the leader may still count on it.
 */
function restartVoters(trouble: Trouble, leader: SimServer, others: readonly ServerId[]): void {
  const { world, random } = trouble
  const { servers, network, plan } = world
  const keptCount = (others.length + 1) >> 1
  const kept = others.slice(0, keptCount)
  const left = others.slice(keptCount)
  world.quiet = true
  // First what is under way comes to its end, so that those who are cut off lack nothing and can win.
  trouble.later(between(random, 5, 60), () => {
    for (const id of left) network.cut(leader.id, id)
  })
  trouble.later(between(random, 0.8, 2.2) * timeoutMs(trouble, left), () => {
    world.quiet = false
    for (const id of left) network.cut(id, leader.id)
    for (const id of kept) {
      network.cut(leader.id, id)
      network.cut(id, leader.id)
      const server = servers.get(id)
      if (server === undefined) continue
      server.crash(happens(random, 0.5))
      trouble.later(between(random, 0.5, 10), () => trouble.revive(server))
    }
  })
  trouble.later(between(random, 2, 6) * plan.timing.electionMs, () => {
    for (const id of others) {
      network.heal(leader.id, id)
      network.heal(id, leader.id)
    }
  })
}

/** The leader hands over, and is cut off before it hears that it worked. */
function transferAndCut(trouble: Trouble, leader: SimServer, others: readonly ServerId[]): void {
  const { world, random } = trouble
  const { network, plan } = world
  transfer(trouble)
  world.suspect = leader.id
  trouble.later(between(random, 0.5, 6), () => {
    for (const id of others) {
      if (happens(random, 0.3)) network.cut(leader.id, id)
      network.cut(id, leader.id)
    }
  })
  trouble.later(between(random, 0.5, 4) * plan.timing.electionMs, () => {
    world.suspect = null
    for (const id of others) {
      network.heal(leader.id, id)
      network.heal(id, leader.id)
    }
  })
}
