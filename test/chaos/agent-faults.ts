/** Breaks client agents beside a cluster: killed, frozen, lost with their machine, drained; and mends them. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ClientAgent } from '../support/client-agent.ts'
import type { Cluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import type { TaskWatch } from '../support/task-watch.ts'

export type AgentFaultContext = {
  readonly cluster: Cluster
  readonly watch: TaskWatch
  readonly agent: ClientAgent
  readonly hold: () => Promise<void>
}

type AgentFault = (context: AgentFaultContext) => Promise<void>

/** Longer than it takes until a node is down, and its work elsewhere. */
const downMs = 12_000
const second = 1_000_000_000

export const agentFaults = {
  'kill an agent': async ({ agent, hold }) => {
    await agent.process.kill()
    await hold()
  },
  'freeze an agent': async ({ agent }) => {
    agent.process.pause()
    await delay(downMs)
  },
  'freeze an agent for a moment': async ({ agent, hold }) => {
    agent.process.pause()
    await hold()
  },
  'a machine dies': async ({ agent, watch }) => {
    await agent.process.kill()
    watch.kill(agent.process.dataFolder)
    await delay(downMs)
  },
  'a machine starts anew': async ({ agent, watch, hold }) => {
    await agent.process.kill()
    watch.kill(agent.process.dataFolder)
    await hold()
  },
  'drain a node': async ({ cluster, agent, hold }) => {
    const drained = { DrainSpec: { Deadline: 10 * second } }
    await put(cluster, agent, 'drain', drained).catch(() => {})
    await hold()
  },
  'drain a node while the leader dies': async ({ cluster, agent, hold }) => {
    const drained = { DrainSpec: { Deadline: 10 * second } }
    await put(cluster, agent, 'drain', drained).catch(() => {})
    const leader = await cluster.leader()
    if (leader !== null) await cluster.kill(leader)
    await hold()
  },
} as const satisfies Record<string, AgentFault>

export type AgentFaultName = keyof typeof agentFaults

/** With the servers whole: all run, and take work. */
export async function healAgents(cluster: Cluster, agents: readonly ClientAgent[]): Promise<void> {
  for (const { process } of agents) {
    process.resume()
    if (!process.running) await process.start()
  }
  for (const agent of agents) {
    await eventually(
      `${agent.process.spec.name} takes work`,
      async () => {
        const found = await nodeOf(cluster, agent)
        if (found.Status !== 'ready') return undefined
        if (found.SchedulingEligibility === 'eligible') return true
        await put(cluster, agent, 'drain', { DrainSpec: null, MarkEligible: true })
        return undefined
      },
      { timeoutMs: 60_000 },
    )
  }
}

type ShownNode = {
  readonly ID: string
  readonly Name: string
  readonly Status: string
  readonly SchedulingEligibility: string
}

async function nodeOf(cluster: Cluster, agent: ClientAgent): Promise<ShownNode> {
  const nodes = (await cluster.http(0).json('GET', '/v1/nodes')) as readonly ShownNode[]
  const found = nodes.find(({ Name }) => Name === agent.process.spec.name)
  if (found === undefined) throw new Error(`${agent.process.spec.name} is no node`)
  return found
}

async function put(
  cluster: Cluster,
  agent: ClientAgent,
  what: string,
  body: object,
): Promise<void> {
  const { ID } = await nodeOf(cluster, agent)
  const { status, body: answer } = await cluster
    .http(0)
    .request('PUT', `/v1/node/${ID}/${what}`, { body: JSON.stringify(body) })
  if (status !== 200) throw new Error(`${what}: ${status} ${answer.toString()}`)
}
