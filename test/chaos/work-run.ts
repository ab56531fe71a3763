/**
 * One run of chaos with work: servers and client agents are broken one after the other while jobs are registered, changed, stopped and
 * purged; now and then all is mended, and must come to rest as its clients were told.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { randomInteger, seededRandom, type Random } from '../../src/lib/random.ts'
import { startClientAgent, type ClientAgent } from '../support/client-agent.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { watchTasks, runsTasks, type TaskWatch } from '../support/task-watch.ts'
import { agentFaults, healAgents, type AgentFaultName } from './agent-faults.ts'
import { JobClients, taskCpu } from './job-clients.ts'
import { faults, heal, shuffle, type FaultName } from './nemesis.ts'
import { Invariants, settles } from './work-judge.ts'

export type WorkChaosReport = {
  readonly failures: readonly string[]
  readonly faults: number
  readonly looks: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly registered: number
  readonly longestOverlapMs: number
}

const agentsCount = 3
const perAgent = 6
const holdMs = { min: 500, max: 4_000 } as const
const calmMs = { min: 500, max: 2_000 } as const
/** Of faults between two rests. */
const roundFaults = 8

const serverFaults: readonly FaultName[] = [
  'kill the leader',
  'kill a follower',
  'kill all',
  'pause the leader',
  'isolate the leader',
  'isolate everyone',
  'mute the leader',
  'reset connections',
  'slow network',
  'kill the leader in a partition',
  'move leadership',
]
const agentFaultNames = Object.keys(agentFaults) as readonly AgentFaultName[]

type World = {
  readonly cluster: Cluster
  readonly agents: readonly ClientAgent[]
  readonly watch: TaskWatch
  readonly random: Random
}

export async function runWorkChaos(
  t: Test,
  { durationMs, seed }: { readonly durationMs: number; readonly seed: number },
): Promise<WorkChaosReport> {
  const random = seededRandom(seed)
  const cluster = await startCluster(t, { gossip: true, proxies: true, seed })
  const watch = watchTasks(t, cluster)
  const agents: ClientAgent[] = []
  for (let at = 1; at <= agentsCount; at += 1) {
    const retry = cluster.servers.map(({ spec }) => `127.0.0.1:${spec.ports.gossip}`)
    const client = { enabled: true, retry_join: retry, cpu_total_compute: perAgent * taskCpu }
    const config = { ...runsTasks, client, log_level: 'debug' }
    agents.push(await startClientAgent(t, cluster, { name: `c${at}`, config }))
  }
  const world: World = { cluster, agents, watch, random }
  await healAgents(cluster, agents)
  const clients = new JobClients(cluster, seededRandom(seed + 1), watch)
  const invariants = new Invariants(cluster, seededRandom(seed + 2), perAgent * taskCpu)
  const failures: string[] = []
  const beganMs = performance.now()
  const untilMs = beganMs + durationMs
  const names = new Faults(random)
  let count = 0
  while (performance.now() < untilMs && failures.length === 0) {
    clients.start()
    for (let of = 0; of < roundFaults && performance.now() < untilMs; of += 1) {
      const name = names.next()
      count += 1
      const second = ((performance.now() - beganMs) / 1_000).toFixed(1)
      t.comment(`${second} s: ${name}, ${JSON.stringify(clients.outcomes)}`)
      await breakAndMend(world, name)
    }
    await clients.stop()
    await mend(world)
    const restMs = performance.now()
    const wanted = await clients.settled()
    failures.push(...(await settles(cluster, watch, wanted, clients.acknowledged())))
    t.comment(`at rest after ${Math.round(performance.now() - restMs)} ms`)
  }
  await invariants.stop()
  failures.push(...invariants.failures)
  failures.push(...watch.beganTwice().map((id) => `allocation ${id} began twice`))
  return {
    failures,
    faults: count,
    looks: invariants.looks,
    outcomes: clients.outcomes,
    registered: clients.once.length,
    longestOverlapMs: Math.max(0, ...watch.overlaps().map(({ ms }) => Math.round(ms))),
  }
}

/** Every fault once before any comes again. */
class Faults {
  readonly #random: Random
  #queue: (FaultName | AgentFaultName)[] = []

  constructor(random: Random) {
    this.#random = random
  }

  next(): FaultName | AgentFaultName {
    if (this.#queue.length === 0) {
      // An agent's fault after each of a server.
      const ofServers = shuffle(serverFaults, this.#random)
      const ofAgents = shuffle(agentFaultNames, this.#random)
      this.#queue = ofServers.flatMap((name, at) => {
        const other = ofAgents[at % ofAgents.length]
        return other === undefined ? [name] : [name, other]
      })
    }
    return this.#queue.pop() ?? 'kill the leader'
  }
}

async function breakAndMend(world: World, name: FaultName | AgentFaultName): Promise<void> {
  const { cluster, agents, watch, random } = world
  const hold = (): Promise<void> => delay(randomInteger(random, holdMs.min, holdMs.max))
  if (isOfAgents(name)) {
    const agent = agents[randomInteger(random, 0, agents.length)]
    if (agent !== undefined) await agentFaults[name]({ cluster, watch, agent, hold })
  } else {
    const leader = (await cluster.leader()) ?? randomInteger(random, 0, cluster.size)
    const follower = (leader + 1 + randomInteger(random, 0, cluster.size - 1)) % cluster.size
    await faults[name]({ cluster, random, leader, follower, hold })
  }
  await mend(world)
  await delay(randomInteger(random, calmMs.min, calmMs.max))
}

function isOfAgents(name: FaultName | AgentFaultName): name is AgentFaultName {
  return agentFaultNames.some((one) => one === name)
}

async function mend({ cluster, agents }: World): Promise<void> {
  await heal(cluster)
  await cluster.waitForLeader()
  await healAgents(cluster, agents)
  const crashed = [...cluster.servers, ...agents.map(({ process }) => process)].find(
    ({ crash }) => crash !== null,
  )
  if (crashed !== undefined) throw new Error(`${crashed.spec.name} crashed: ${crashed.crash}`)
}
