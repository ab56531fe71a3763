/** Real servers, a good client agent whose task must go on, and the hostile ones beside it. */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Test } from 'tap'
import type { NodeSpec } from '../../src/domains/nodes/model.ts'
import { specOf } from '../domains/nodes/spec.ts'
import { startClientAgent } from './client-agent.ts'
import { startCluster, type Cluster } from './cluster.ts'
import { eventually, eventuallyTrue } from './eventually.ts'
import { HostileAgent, type Answer } from './hostile-agent.ts'
import { mark, markSeenBy } from './mark.ts'
import { runsTasks, watchTasks, type TaskWatch } from './task-watch.ts'

const growthBytesMax = 300 * 1024 * 1024
const wholeMs = 5_000

type Shown = { readonly ID: string; readonly NodeName: string; readonly ClientStatus: string }
type ShownNode = { readonly ID: string; readonly Name: string; readonly Status: string }

export type World = {
  readonly cluster: Cluster
  readonly watch: TaskWatch
  /** Of the good agent. */
  readonly good: string
  readonly goodAllocation: string
  readonly before: readonly number[]
}

const driver: NodeSpec['drivers'][number] = {
  name: 'mock_driver',
  attributes: [],
  detected: true,
  healthy: true,
  healthDescription: '',
  updateTimeMs: 0,
}

export async function residentBytes(cluster: Cluster, at: number): Promise<number> {
  const status = await readFile(`/proc/${cluster.server(at).pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024
}

export function portOf({ cluster }: World, at = 0): number {
  return cluster.server(at).spec.ports.http
}

export async function nodesOf(cluster: Cluster): Promise<readonly ShownNode[]> {
  return (await cluster.http(0).json('GET', '/v1/nodes')) as readonly ShownNode[]
}

export async function allocationsOf(cluster: Cluster, job: string): Promise<readonly Shown[]> {
  return (await cluster.http(0).json('GET', `/v1/job/${job}/allocations`)) as readonly Shown[]
}

/** A hostile agent may get it; nobody runs it. */
export const mockTask = {
  Name: 'main',
  Driver: 'mock_driver',
  Config: { run_for: '1h' },
  LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
}

export function jobOf(id: string, node: string, task: object) {
  const onNode = { LTarget: '${node.unique.id}', RTarget: node, Operand: '=' }
  const group = { Name: 'g', EphemeralDisk: { SizeMB: 10 }, Tasks: [task] }
  return { ID: id, Datacenters: ['dc1'], Constraints: [onNode], TaskGroups: [group] }
}

export async function register(cluster: Cluster, job: object): Promise<void> {
  const { status, body } = await cluster
    .http(0)
    .request('PUT', '/v1/jobs', { body: JSON.stringify({ Job: job }) })
  if (status !== 200) throw new Error(`${status} ${body.toString()}`)
}

export async function placed(cluster: Cluster, job: string, status: string): Promise<string> {
  return eventually(`${job} is ${status}`, async () => {
    const rows = await allocationsOf(cluster, job)
    return rows.find(({ ClientStatus }) => ClientStatus === status)?.ID
  })
}

/** With its uplink at a server, and not registered. */
export async function stranger(t: Test, world: World, at = 0): Promise<HostileAgent> {
  const nodeId = randomUUID()
  const agent = await HostileAgent.open(portOf(world, at), {
    nodeId,
    name: `m${nodeId.slice(0, 4)}`,
  })
  t.teardown(() => agent.close())
  agent.openCalls()
  return agent
}

/** Registered, and ready. */
export async function member(t: Test, world: World, at = 0): Promise<HostileAgent> {
  const agent = await stranger(t, world, at)
  const spec = specOf(agent.node.name, { drivers: [driver] })
  isTaken(t, await agent.ask('nodes.register', { spec }), 'it registers')
  isTaken(t, await agent.ask('nodes.heartbeat', {}), 'its heartbeat is heard')
  await eventuallyTrue('its node is ready', async () => {
    const nodes = await nodesOf(world.cluster)
    return nodes.some(({ ID, Status }) => ID === agent.node.nodeId && Status === 'ready')
  })
  return agent
}

export function isTaken(t: Test, answer: Answer, what: string): void {
  t.notOk('code' in answer && `${answer.code}: ${answer.text}`, what)
}

export function isRefused(t: Test, answer: Answer, code: string, what: string): void {
  t.match(answer, { code }, what)
}

/** A server's log says who it was, and what of it was wrong. */
export async function isNamed(
  { cluster }: World,
  { node }: HostileAgent,
  what: RegExp,
): Promise<void> {
  await eventuallyTrue(`a log names ${node.name}: ${what.source}`, async () => {
    const lines = (await cluster.logs(3_000)).split('\n')
    return lines.some((line) => line.includes(node.nodeId) && what.test(line))
  })
}

/** Servers lead and answer, the good agent and its task are as they were, and memory is as before. */
export async function isWell(t: Test, world: World, what: string): Promise<void> {
  const { cluster, watch, good, goodAllocation, before } = world
  for (const at of cluster.all) {
    if (cluster.server(at).crash !== null) {
      throw new Error(`${what}: server ${at} ended: ${await cluster.logs(30)}`)
    }
  }
  const beganMs = performance.now()
  await mark(cluster, what)
  for (const at of cluster.all) t.equal(await markSeenBy(cluster, at), what)
  t.ok(performance.now() - beganMs < wholeMs, `${what}: requests are answered meanwhile`)
  const node = (await nodesOf(cluster)).find(({ ID }) => ID === good)
  t.equal(node?.Status, 'ready', `${what}: the good node is ready`)
  const rows = await allocationsOf(cluster, 'good')
  t.match(rows, [{ ID: goodAllocation, ClientStatus: 'running' }], `${what}: its work runs`)
  const alive = watch.alive().filter(({ name }) => name === 'good.g[0]')
  t.same(
    alive.map(({ allocation }) => allocation),
    [goodAllocation],
    `${what}: as one process`,
  )
  for (const at of cluster.all) {
    await eventuallyTrue(`${what}: server ${at} holds what it held`, async () => {
      return (await residentBytes(cluster, at)) - (before[at] ?? 0) < growthBytesMax
    })
  }
}

export async function world(t: Test): Promise<World> {
  const cluster = await startCluster(t, { gossip: true })
  const watch = watchTasks(t, cluster)
  await startClientAgent(t, cluster, { name: 'good', config: runsTasks })
  const good = await eventually('the good node is ready', async () => {
    return (await nodesOf(cluster)).find(({ Status }) => Status === 'ready')?.ID
  })
  await register(cluster, jobOf('good', good, watch.task()))
  const goodAllocation = await placed(cluster, 'good', 'running')
  const before = await Promise.all(cluster.all.map((at) => residentBytes(cluster, at)))
  return { cluster, watch, good, goodAllocation, before }
}
