/** A leader without workers of its own: those of the followers decide what runs where, also while servers are killed. */
import t from 'tap'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import type { HttpClient } from '../support/http-client.ts'
import { mockTask } from '../support/mock-task.ts'

t.setTimeout(300_000)

type Shown = {
  readonly Name: string
  readonly DesiredStatus: string
  readonly ClientStatus: string
}

async function register(http: HttpClient, id: string): Promise<void> {
  const group = { Name: 'g', Count: 2, EphemeralDisk: { SizeMB: 10 }, Tasks: [mockTask] }
  const Job = { ID: id, Name: id, Type: 'service', Datacenters: ['dc1'], TaskGroups: [group] }
  await http.json('PUT', '/v1/jobs', { body: JSON.stringify({ Job }) })
}

async function runs(http: HttpClient, id: string): Promise<void> {
  const names = [`${id}.g[0]`, `${id}.g[1]`].join()
  await eventuallyTrue(`${id} runs twice`, async () => {
    const rows = (await http.json('GET', `/v1/job/${id}/allocations`)) as readonly Shown[]
    const wanted = rows.filter(({ DesiredStatus }) => DesiredStatus === 'run')
    const running = wanted.filter(({ ClientStatus }) => ClientStatus === 'running')
    return (
      running.length === wanted.length &&
      wanted
        .map(({ Name }) => Name)
        .sort()
        .join() === names
    )
  })
}

async function withoutWorkers(http: HttpClient): Promise<void> {
  const kinds = ['service', 'batch', 'system', 'sysbatch', '_core']
  const body = JSON.stringify({ num_schedulers: 0, enabled_schedulers: kinds })
  await http.json('PUT', '/v1/agent/schedulers/config', { body })
}

t.test('workers of followers have what the leader cannot do', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  const mock = { plugin: { mock_driver: { config: { enabled: true } } } }
  const client = { cpu_total_compute: 100_000 }
  const agent = await startClientAgent(t, cluster, { config: mock, client })
  await eventuallyTrue('the node is ready', async () => {
    const nodes = (await agent.http.json('GET', '/v1/nodes')) as readonly { Status: string }[]
    return nodes[0]?.Status === 'ready'
  })
  const leader = await cluster.waitForLeader()
  const [one = -1, other = -1] = cluster.all.filter((at) => at !== leader)
  await withoutWorkers(cluster.http(leader))
  await register(cluster.http(one), 'first')
  await runs(cluster.http(other), 'first')

  const ids = Array.from({ length: 40 }, (_, at) => `job${at}`)
  const registered = Promise.all(ids.map((id) => register(cluster.http(leader), id)))
  await cluster.server(one).kill()
  await registered
  for (const id of ids) await runs(cluster.http(leader), id)

  await cluster.restart(one)
  await register(cluster.http(leader), 'before')
  await cluster.server(leader).kill()
  const next = await cluster.waitForLeader({ except: leader })
  await runs(cluster.http(next), 'before')
  await withoutWorkers(cluster.http(next))
  await register(cluster.http(next), 'after')
  await runs(cluster.http(next), 'after')
})
