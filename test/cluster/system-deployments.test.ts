/** Deployments of a system job on real agents: canaries on a share of the nodes are promoted, and a bad version goes back by itself. */
import t from 'tap'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { deploymentsOf } from '../support/deployments.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import type { HttpClient } from '../support/http-client.ts'

t.setTimeout(300_000)

const second = 1_000_000_000
const agents = ['c1', 'c2', 'c3', 'c4']

type Allocation = {
  readonly ID: string
  readonly NodeName: string
  readonly JobVersion: number
  readonly ClientStatus: string
  readonly DesiredStatus: string
}

const runs = 'while :; do sleep 1; done'

function jobOf(version: string, script: string, update: object = {}) {
  const task = {
    Name: 'main',
    Driver: 'raw_exec',
    Config: { command: '/bin/sh', args: ['-c', script] },
    Env: { VERSION: version },
    KillTimeout: second,
    Resources: { CPU: 20, MemoryMB: 16 },
    LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
  }
  const group = {
    Name: 'g',
    EphemeralDisk: { SizeMB: 10 },
    RestartPolicy: { Attempts: 0, Interval: 10 * second, Delay: second, Mode: 'fail' },
    Update: {
      MaxParallel: 1,
      Canary: 34,
      AutoRevert: true,
      MinHealthyTime: second / 2,
      HealthyDeadline: 20 * second,
      ProgressDeadline: 60 * second,
      ...update,
    },
    Tasks: [task],
  }
  return { Job: { ID: 'agent', Type: 'system', Datacenters: ['dc1'], TaskGroups: [group] } }
}

function put(http: HttpClient, path: string, body: object): Promise<unknown> {
  return http.json('PUT', path, { body: JSON.stringify(body) })
}

/** By node, the version that runs there. */
async function versions(http: HttpClient): Promise<Readonly<Record<string, number>>> {
  const all = (await http.json('GET', '/v1/job/agent/allocations')) as readonly Allocation[]
  const live = all.filter(
    ({ DesiredStatus, ClientStatus }) => DesiredStatus === 'run' && ClientStatus === 'running',
  )
  const nodes = new Set(live.map(({ NodeName }) => NodeName))
  if (nodes.size !== live.length) throw new Error(`a node runs two: ${JSON.stringify(live)}`)
  return Object.fromEntries(live.map(({ NodeName, JobVersion }) => [NodeName, JobVersion]))
}

/** So many nodes run the version, and all run one. */
async function runOn(http: HttpClient, version: number, count: number): Promise<void> {
  await eventuallyTrue(`${count} nodes run version ${version}`, async () => {
    const all = Object.values(await versions(http))
    return all.length === agents.length && all.filter((one) => one === version).length === count
  })
}

type Planned = {
  readonly Annotations: { readonly DesiredTGUpdates: { readonly g: Record<string, number> } }
}

void t.test('a system job is tried on some nodes, promoted, and goes back', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  const config = { plugin: { raw_exec: { config: { enabled: true } } } }
  for (const name of agents) await startClientAgent(t, cluster, { name, config })
  const leader = await cluster.waitForLeader()
  const http = cluster.http((leader + 1) % cluster.size)
  const { until, ends } = deploymentsOf('agent', () => http)
  await eventuallyTrue('the nodes are ready', async () => {
    const nodes = (await http.json('GET', '/v1/nodes')) as readonly { Status: string }[]
    return nodes.filter(({ Status }) => Status === 'ready').length === agents.length
  })
  await put(http, '/v1/jobs', jobOf('0', runs))
  t.equal((await ends(0, 'successful')).TaskGroups.g.DesiredTotal, 4)

  const planned = (await put(http, '/v1/job/agent/plan', jobOf('1', runs))) as Planned
  const { Canary, DestructiveUpdate, Ignore } = planned.Annotations.DesiredTGUpdates.g
  t.match({ Canary, DestructiveUpdate, Ignore }, { Canary: 1, DestructiveUpdate: 0, Ignore: 3 })

  await put(http, '/v1/jobs', jobOf('1', runs))
  const tried = await until(1, 'has healthy canaries', ({ TaskGroups: { g } }) => {
    return g.HealthyAllocs === g.DesiredCanaries
  })
  t.match(tried.TaskGroups.g, { DesiredCanaries: 2, DesiredTotal: 4, Promoted: false })
  t.equal(tried.TaskGroups.g.PlacedCanaries?.length, 2)
  t.match(tried.StatusDescription, /requires manual promotion/)
  await runOn(http, 1, 2)
  await put(http, `/v1/deployment/promote/${tried.ID}`, { All: true })
  t.match((await ends(1, 'successful')).TaskGroups.g, { Promoted: true, HealthyAllocs: 4 })
  await runOn(http, 1, 4)

  // Its tasks fail: only nodes of canaries see it, and the job is at the stable version again.
  const update = { HealthyDeadline: 3 * second, ProgressDeadline: 6 * second }
  await put(http, '/v1/jobs', jobOf('2', 'exit 1', update))
  const failed = await ends(2, 'failed')
  t.equal(
    failed.StatusDescription,
    'Failed due to progress deadline - rolling back to job version 1',
  )
  t.equal(failed.TaskGroups.g.PlacedCanaries?.length, 1, 'no second one after the first failed')
  await ends(3, 'successful')
  await runOn(http, 3, 4)
  const back = (await http.json('GET', '/v1/job/agent')) as { Version: number; Stable: boolean }
  t.match(back, { Version: 3, Stable: true })
})
