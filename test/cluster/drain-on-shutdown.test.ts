/** A client agent that leaves for good moves its work away first, and waits for tasks that take their time to end. */
import t from 'tap'
import { startClientAgent, type ClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'

t.setTimeout(180_000)

type Shown = {
  readonly ID: string
  readonly NodeName: string
  readonly ClientStatus: string
  readonly DesiredStatus: string
}

/** Longer than a process has to stop. */
const endSeconds = 12

const task = {
  Name: 'main',
  Driver: 'mock_driver',
  Config: { run_for: '10m', kill_after: `${endSeconds}s` },
  KillTimeout: 25e9,
  Resources: { CPU: 20, MemoryMB: 16 },
  LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
}
const group = {
  Name: 'g',
  EphemeralDisk: { SizeMB: 10 },
  Migrate: { MaxParallel: 1, MinHealthyTime: 1e9, HealthyDeadline: 60e9 },
  Tasks: [task],
}
const job = { ID: 'web', Name: 'web', Type: 'service', Datacenters: ['dc1'], TaskGroups: [group] }

t.test('its work runs elsewhere when it has gone', async (t) => {
  const cluster = await startCluster(t, { gossip: true, servers: 1 })
  const plugin = { mock_driver: { config: { enabled: true } } }
  const started = (name: string): Promise<ClientAgent> => {
    const config = { plugin, leave_on_terminate: name === 'c1' }
    const client = { drain_on_shutdown: { deadline: '2m' } }
    return startClientAgent(t, cluster, { name, config, client })
  }
  const c1 = await started('c1')
  const http = cluster.http(0)
  const nodes = async () =>
    (await http.json('GET', '/v1/nodes')) as readonly Record<string, string>[]
  const ready = (count: number): Promise<void> =>
    eventuallyTrue(`${count} nodes are ready`, async () => {
      return (await nodes()).filter(({ Status }) => Status === 'ready').length === count
    })
  await ready(1)
  const { status } = await http.request('PUT', '/v1/jobs', { body: JSON.stringify({ Job: job }) })
  t.equal(status, 200)
  const running = async (): Promise<readonly Shown[]> =>
    ((await http.json('GET', '/v1/job/web/allocations')) as readonly Shown[]).filter(
      (row) => row.ClientStatus === 'running' && row.DesiredStatus === 'run',
    )
  await eventuallyTrue('it runs', async () => (await running()).length === 1)
  await started('c2')
  await ready(2)
  await c1.process.terminate()
  const [elsewhere] = await eventually('the work runs elsewhere', async () => {
    const rows = await running()
    return rows.length === 1 ? rows : undefined
  })
  t.equal(elsewhere?.NodeName, 'c2')
  const rows = (await http.json('GET', '/v1/job/web/allocations')) as readonly Shown[]
  const moved = rows.find(({ NodeName }) => NodeName === 'c1')
  t.match(moved, { ClientStatus: 'complete', DesiredStatus: 'stop' }, 'it had its time to end')
  const node = (await nodes()).find(({ Name }) => Name === 'c1')
  t.match(node, { SchedulingEligibility: 'ineligible' })
})
