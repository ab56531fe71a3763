/** Breaks a running cluster, one fault after another, and mends it in between. */
import { setTimeout as delay } from 'node:timers/promises'
import { randomInteger, type Random } from '../../src/lib/random.ts'
import type { Cluster } from '../support/cluster.ts'

/** Holds the fault, then takes back what `heal` below does not. */
type Fault = (context: {
  readonly cluster: Cluster
  readonly random: Random
  /** The leader, or any server while there is none. */
  readonly leader: number
  /** A server that is not the leader. */
  readonly follower: number
  readonly hold: () => Promise<void>
}) => Promise<void>

export const faults = {
  'kill the leader': async ({ cluster, leader, hold }) => {
    await cluster.kill(leader)
    await hold()
  },
  'kill a follower': async ({ cluster, follower, hold }) => {
    await cluster.kill(follower)
    await hold()
  },
  'kill all': async ({ cluster, hold }) => {
    await Promise.all(cluster.all.map((at) => cluster.kill(at)))
    await hold()
  },
  'stop the leader': async ({ cluster, leader, hold }) => {
    await cluster.terminate(leader)
    await hold()
  },
  'pause the leader': async ({ cluster, leader, hold }) => {
    cluster.pause(leader)
    await hold()
  },
  'pause a follower': async ({ cluster, follower, hold }) => {
    cluster.pause(follower)
    await hold()
  },
  'pause all': async ({ cluster, hold }) => {
    for (const at of cluster.all) cluster.pause(at)
    await hold()
  },
  'split in halves': async ({ cluster, random, hold }) => {
    const shuffled = [...cluster.all].sort(() => random.next() - 0.5)
    const half = Math.floor(cluster.size / 2)
    await cluster.network.partition([shuffled.slice(0, half), shuffled.slice(half)])
    await hold()
  },
  'isolate the leader': async ({ cluster, leader, hold }) => {
    await cluster.network.isolate(leader)
    await hold()
  },
  'isolate everyone': async ({ cluster, hold }) => {
    await cluster.network.partition([])
    await hold()
  },
  'mute the leader': async ({ cluster, leader, hold }) => {
    await cluster.network.mute(leader)
    await hold()
  },
  'deafen the leader': async ({ cluster, leader, hold }) => {
    await cluster.network.deafen(leader)
    await hold()
  },
  'cut one way': async ({ cluster, leader, follower, hold }) => {
    await cluster.network.cut(leader, follower)
    await hold()
  },
  ring: async ({ cluster, hold }) => {
    await cluster.network.ring()
    await hold()
  },
  'refuse connections': async ({ cluster, leader, follower, hold }) => {
    await cluster.network.refuse(leader, follower)
    await hold()
  },
  'reset connections': async ({ cluster, random, hold }) => {
    for (const from of cluster.all) {
      const to = (from + 1) % cluster.size
      await cluster.network.reset(from, to, randomInteger(random, 0, 200))
    }
    await hold()
  },
  'slow network': async ({ cluster, random, hold }) => {
    await cluster.network.slowAll(randomInteger(random, 5, 60), randomInteger(random, 0, 30))
    await hold()
  },
  'slow link of the leader': async ({ cluster, leader, follower, hold }) => {
    await cluster.network.throttle(leader, follower, 20)
    await hold()
  },
  'kill the leader in a partition': async ({ cluster, leader, follower, hold }) => {
    await cluster.network.isolate(follower)
    await cluster.kill(leader)
    await hold()
  },
  'move leadership': async ({ cluster, leader, hold }) => {
    // Any answer will do: the judge looks at what clients see.
    await cluster
      .http(leader)
      .request('PUT', '/v1/operator/raft/transfer-leadership', { timeoutMs: 3_000 })
      .catch(() => null)
    await hold()
  },
} as const satisfies Record<string, Fault>

export type FaultName = keyof typeof faults

export const faultNames = Object.keys(faults) as readonly FaultName[]

export type NemesisEvents = {
  readonly onFault: (name: FaultName, heldMs: number) => void
}

const holdMsMin = 300
const holdMsMax = 3_000
/** Whole again, so that every fault meets a working cluster. */
const calmMsMin = 300
const calmMsMax = 1_500
const recoveryTimeoutMs = 30_000

/**
 * Runs faults until `untilMs` (monotonic). Every fault happens once before any happens again, in a random
 * order. Rejects when the cluster does not come back after a fault.
 */
export async function runNemesis(
  cluster: Cluster,
  random: Random,
  untilMs: number,
  names: readonly FaultName[],
  { onFault }: NemesisEvents,
): Promise<void> {
  let queue: FaultName[] = []
  while (performance.now() < untilMs) {
    if (queue.length === 0) queue = shuffle(names, random)
    const name = queue.pop()
    if (name === undefined) return
    const leader = (await cluster.leader()) ?? randomInteger(random, 0, cluster.size)
    const follower = (leader + 1 + randomInteger(random, 0, cluster.size - 1)) % cluster.size
    const holdMs = randomInteger(random, holdMsMin, holdMsMax)
    onFault(name, holdMs)
    const hold = (): Promise<void> => delay(holdMs)
    await faults[name]({ cluster, random, leader, follower, hold })
    await heal(cluster)
    await cluster.waitForLeader({ timeoutMs: recoveryTimeoutMs })
    await delay(randomInteger(random, calmMsMin, calmMsMax))
    const crashed = cluster.servers.find(({ crash }) => crash !== null)
    if (crashed !== undefined) throw new Error(`${crashed.spec.name} crashed: ${crashed.crash}`)
  }
}

/** Every server runs and hears every other. */
export async function heal(cluster: Cluster): Promise<void> {
  await cluster.network.heal()
  for (const at of cluster.all) {
    cluster.resume(at)
    if (!cluster.server(at).running) await cluster.restart(at)
  }
}

export function shuffle<Name>(names: readonly Name[], random: Random): Name[] {
  const shuffled = [...names]
  for (let left = shuffled.length; left > 1; left -= 1) {
    const at = randomInteger(random, 0, left)
    const [taken] = shuffled.splice(at, 1)
    if (taken !== undefined) shuffled.push(taken)
  }
  return shuffled
}
