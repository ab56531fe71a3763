/**
 * Golden data of workloads: nodes of agents that only say what becomes of their allocations, and jobs in all states that stay as they
 * are: nothing of them changes with time, however much later they are read.
 */
import { delay } from '../../src/lib/async.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { NodeSpec } from '../../src/domains/nodes/model.ts'
import type { Feed, ReadReply } from '../../src/domains/allocations/feed-model.ts'
import { openAgent, secretOf, type FakeAgent } from '../domains/nodes/agent.ts'
import { specOf } from '../domains/nodes/spec.ts'
import { eventually } from './eventually.ts'

export type Ids = Readonly<Record<string, string>>

/** Asks the server: `METHOD PATH` and a body; the JSON of a 200. */
export type AskJson = (of: string, body?: unknown) => Promise<unknown>

const nodeIds = [
  '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0b01',
  '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0b02',
] as const
const [, drained] = nodeIds
const second = 1_000_000_000
const roundMs = 50

const driver: NodeSpec['drivers'][number] = {
  name: 'mock_driver',
  attributes: [['driver.mock_driver', '1']],
  detected: true,
  healthy: true,
  healthDescription: 'Healthy',
  updateTimeMs: 0,
}

/** Agents that report every allocation as running and healthy, and as complete once it is to stop. */
export class GoldenNodes {
  readonly #closing: (() => void)[] = []
  readonly #stopping = new AbortController()

  static async open(port: number, token: string): Promise<GoldenNodes> {
    const nodes = new GoldenNodes()
    for (const [at, nodeId] of nodeIds.entries()) {
      const name = `golden-${at + 1}`
      const owner = { teardown: (close: () => void) => void nodes.#closing.push(close) }
      const node = { nodeId, name, secret: secretOf('g'), token }
      const agent = await openAgent(owner, port, node)
      await agent.ask('nodes.register', { spec: specOf(name, { drivers: [driver] }) })
      await agent.ask('nodes.heartbeat', {})
      void nodes.#report(agent)
    }
    return nodes
  }

  close(): void {
    this.#stopping.abort()
    for (const close of this.#closing) close()
  }

  /** Ends with its uplink. */
  async #report(agent: FakeAgent): Promise<void> {
    const { signal } = this.#stopping
    const reported = new Map<string, number>()
    while (!signal.aborted) {
      try {
        const feed = (await agent.ask('allocations.feed', { index: 0, tag: '', waitMs: 0 })) as Feed
        for (const [id, index] of feed.allocations) {
          if (reported.get(id) === index) continue
          const read = (await agent.ask('allocations.read', { ids: [id] })) as ReadReply
          await agent.ask('allocations.report', { reports: read.allocations.map(reportOf) })
          reported.set(id, index)
        }
      } catch {
        // The server ends, or has no leader yet.
      }
      await delay(systemClock, roundMs, signal)
    }
  }
}

function reportOf({ id, group, desiredStatus }: ReadReply['allocations'][number]) {
  const timeMs = Date.now()
  const event = {
    type: 'Started',
    timeNs: `${timeMs}000000`,
    message: '',
    displayMessage: 'Task started by client',
    details: [['pid', '17']],
  }
  const at = { startedMs: timeMs, finishedMs: null, lastRestartMs: null }
  const isOver = desiredStatus !== 'run'
  const state = {
    state: isOver ? 'dead' : 'running',
    failed: false,
    restarts: 0,
    events: [event],
    ...at,
  }
  return {
    id,
    clientStatus: isOver ? 'complete' : 'running',
    clientDescription: isOver ? 'All tasks have completed' : 'Tasks are running',
    tasks: group.Tasks.map(({ Name }) => ({ task: Name, ...state })),
    health: { healthy: true, timeMs },
  }
}

function jobOf(id: string, type: string, group: object = {}, job: object = {}, task: object = {}) {
  const runs = {
    Name: 'main',
    Driver: 'mock_driver',
    Config: { run_for: '1h' },
    Resources: { CPU: 50, MemoryMB: 32 },
    LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
    ...task,
  }
  const groups = [{ Name: 'g', EphemeralDisk: { SizeMB: 10 }, Tasks: [runs], ...group }]
  return { Job: { ID: id, Name: id, Type: type, Datacenters: ['dc1'], TaskGroups: groups, ...job } }
}

const web = (version: string, canary: number) =>
  jobOf(
    'web',
    'service',
    { Count: 2, Update: { MaxParallel: 1, MinHealthyTime: second, Canary: canary } },
    { Meta: { team: 'a' } },
    { Env: { VERSION: version } },
  )

/** On the node that is drained alone. */
const onDrained = {
  Constraints: [{ LTarget: '${node.unique.id}', RTarget: drained, Operand: '=' }],
}

type Named = { readonly ID: string; readonly Status: string }
type Placed = { readonly ID: string; readonly ClientStatus: string }
type Deployed = Named & {
  readonly TaskGroups: { readonly g: { readonly HealthyAllocs: number } }
}

async function runs(ask: AskJson, job: string, count: number): Promise<readonly string[]> {
  return eventually(`${count} of ${job} run`, async () => {
    const path = `/v1/job/${encodeURIComponent(job)}/allocations`
    const rows = (await ask(`GET ${path}`)) as readonly Placed[]
    const ids = rows.flatMap(({ ID, ClientStatus }) => (ClientStatus === 'running' ? [ID] : []))
    return ids.length === count ? ids : undefined
  })
}

async function deployed(ask: AskJson, job: string, healthy: number, status: string) {
  return eventually(`the deployment of ${job} is ${status}`, async () => {
    const row = (await ask(`GET /v1/job/${job}/deployment`)) as Deployed
    return row.TaskGroups.g.HealthyAllocs === healthy && row.Status === status ? row.ID : undefined
  })
}

/** What runs, and has been updated once. */
export async function fillGoldenJobs(ask: AskJson): Promise<Ids> {
  await ask('PUT /v1/jobs', web('0', 0))
  await deployed(ask, 'web', 2, 'successful')
  await ask('PUT /v1/jobs', jobOf('everywhere', 'system'))
  await ask('PUT /v1/jobs', jobOf('nightly', 'batch', { Count: 2 }, onDrained))
  await runs(ask, 'everywhere', 2)
  await runs(ask, 'nightly', 2)
  await ask('PUT /v1/jobs', jobOf('over', 'service'))
  await runs(ask, 'over', 1)
  return {}
}

/** What is under way: a canary that waits, a drain, work without room, launches. */
export async function fillGoldenWork(ask: AskJson): Promise<Ids> {
  await ask('PUT /v1/jobs', web('1', 1))
  const deployment = await deployed(ask, 'web', 1, 'running')
  const [canary = ''] = (
    (await ask(`GET /v1/deployment/allocations/${deployment}`)) as Named[]
  ).map(({ ID }) => ID)
  await ask('PUT /v1/job/web/scale', { Message: 'more is asked for', Target: { Group: 'g' } })
  const tooMuch = { Resources: { CPU: 50, MemoryMB: 900_000 } }
  const { EvalID } = (await ask('PUT /v1/jobs', jobOf('big', 'service', {}, {}, tooMuch))) as {
    EvalID: string
  }
  const blocked = await eventually('it waits for room', async () => {
    const { BlockedEval } = (await ask(`GET /v1/evaluation/${EvalID}`)) as { BlockedEval?: string }
    return BlockedEval === undefined || BlockedEval === '' ? undefined : BlockedEval
  })
  const periodic = { Enabled: false, SpecType: 'cron', Specs: ['0 3 * * *'], TimeZone: 'UTC' }
  await ask('PUT /v1/jobs', jobOf('hourly', 'batch', {}, { Periodic: periodic }))
  const parameters = { Payload: 'required', MetaRequired: ['input'] }
  const takes = { DispatchPayload: { File: 'in.json' } }
  const parameterized = { ParameterizedJob: parameters }
  await ask('PUT /v1/jobs', jobOf('encode', 'batch', {}, parameterized, takes))
  const { DispatchedJobID: dispatched } = (await ask('PUT /v1/job/encode/dispatch', {
    Payload: Buffer.from('{"a":1}').toString('base64'),
    Meta: { input: 'a.avi' },
  })) as { DispatchedJobID: string }
  await runs(ask, dispatched, 1)
  await ask('DELETE /v1/job/over')
  await ask(`PUT /v1/node/${drained}/drain`, {
    DrainSpec: { Deadline: 0 },
    Meta: { message: 'golden' },
  })
  await eventually('only batch work holds the drain up', async () => {
    const { Waiting } = (await ask(`GET /v1/node/${drained}/drain`)) as {
      Waiting: { JobID: string }[]
    }
    return Waiting.some(({ JobID }) => JobID === 'web') ? undefined : true
  })
  return { deployment, canary, blocked, dispatched }
}

/** What of it does not change by itself: what is over is collected soon, and what waits for room is looked at by each leader. */
export function goldenWorkReads({ deployment, canary, dispatched }: Ids): readonly string[] {
  if (deployment === undefined) return []
  const child = encodeURIComponent(dispatched ?? '')
  return [
    ...nodeIds.map((id) => `/v1/node/${id}`),
    `/v1/node/${drained}/drain`,
    `/v1/deployment/${deployment}`,
    `/v1/deployment/allocations/${deployment}`,
    `/v1/allocation/${canary}`,
    '/v1/jobs?prefix=web',
    '/v1/job/web',
    '/v1/job/web/versions',
    '/v1/job/web/summary',
    '/v1/job/web/scale',
    '/v1/job/everywhere',
    '/v1/job/everywhere/allocations',
    '/v1/job/nightly/allocations',
    '/v1/job/big',
    '/v1/job/hourly',
    '/v1/job/encode',
    `/v1/job/${child}`,
    `/v1/job/${child}/allocations`,
  ]
}

/** What these rows are for: the update goes on, and the drain ends when its operator says so. */
export async function goldenWorkGoesOn(ask: AskJson, { deployment, canary }: Ids): Promise<void> {
  if (deployment === undefined) return
  await ask(`PUT /v1/deployment/promote/${deployment}`, { All: true })
  await eventually('the promoted canary is one of the group', async () => {
    const row = (await ask(`GET /v1/deployment/${deployment}`)) as {
      TaskGroups: { g: { Promoted: boolean; PlacedCanaries: string[] } }
    }
    const { Promoted, PlacedCanaries } = row.TaskGroups.g
    return Promoted && PlacedCanaries.includes(canary ?? '') ? true : undefined
  })
  await ask('DELETE /v1/job/nightly')
  await eventually('what it ran is to stop', async () => {
    const rows = (await ask('GET /v1/job/nightly/allocations')) as { DesiredStatus: string }[]
    return rows.every(({ DesiredStatus }) => DesiredStatus === 'stop') ? true : undefined
  })
  await ask(`PUT /v1/node/${drained}/drain`, { DrainSpec: null, MarkEligible: true })
}
