/** Deployments on real agents: a bad version goes back although the leader is killed, and a canary is promoted. */
import t from 'tap'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { deploymentsOf } from '../support/deployments.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import type { HttpClient } from '../support/http-client.ts'

t.setTimeout(300_000)

const second = 1_000_000_000

type Allocation = {
  readonly ID: string
  readonly JobVersion: number
  readonly ClientStatus: string
  readonly DesiredStatus: string
}

function jobOf(version: string, script: string, update: object) {
  const task = {
    Name: 'main',
    Driver: 'raw_exec',
    Config: { command: '/bin/sh', args: ['-c', script] },
    Env: { VERSION: version },
    KillTimeout: second,
    Resources: { CPU: 20, MemoryMB: 16 },
    LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
    Services: [{ Name: 'web', PortLabel: '80', Tags: ['live'], CanaryTags: ['canary'] }],
  }
  const group = {
    Name: 'g',
    Count: 3,
    EphemeralDisk: { SizeMB: 10 },
    RestartPolicy: { Attempts: 0, Interval: 10 * second, Delay: second, Mode: 'fail' },
    Update: {
      MaxParallel: 1,
      MinHealthyTime: second / 2,
      HealthyDeadline: 20 * second,
      ProgressDeadline: 60 * second,
      AutoRevert: true,
      ...update,
    },
    Tasks: [task],
  }
  return { Job: { ID: 'web', Datacenters: ['dc1'], TaskGroups: [group] } }
}

const runs = 'while :; do sleep 1; done'

async function put(http: HttpClient, path: string, body: object): Promise<void> {
  await http.json('PUT', path, { body: JSON.stringify(body) })
}

async function live(http: HttpClient): Promise<readonly Allocation[]> {
  const all = (await http.json('GET', '/v1/job/web/allocations')) as readonly Allocation[]
  return all.filter(
    ({ DesiredStatus, ClientStatus }) => DesiredStatus === 'run' && ClientStatus === 'running',
  )
}

/** The instances of the service have these tags, in any order. */
function tagged(http: HttpClient, tags: readonly string[]): Promise<void> {
  return eventuallyTrue(`the tags are ${tags.join()}`, async () => {
    const rows = (await http.json('GET', '/v1/catalog/service/web')) as readonly {
      readonly ServiceTags: readonly string[]
    }[]
    const found = rows.flatMap(({ ServiceTags }) => ServiceTags)
    return found.toSorted().join() === tags.join()
  })
}

void t.test('a bad version goes back over a lost leader, and a canary is promoted', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  const config = { plugin: { raw_exec: { config: { enabled: true } } } }
  await startClientAgent(t, cluster, { name: 'c1', config })
  const leader = await cluster.waitForLeader()
  const http = cluster.http((leader + 1) % cluster.size)
  const { until, ends } = deploymentsOf('web', () => http)
  await eventuallyTrue('the node is ready', async () => {
    const nodes = (await http.json('GET', '/v1/nodes')) as readonly { Status: string }[]
    return nodes.some(({ Status }) => Status === 'ready')
  })
  await put(http, '/v1/jobs', jobOf('0', runs, {}))
  await ends(0, 'successful')

  // Its tasks fail, and it waits for progress while the leader dies.
  const update = { HealthyDeadline: 3 * second, ProgressDeadline: 8 * second }
  await put(http, '/v1/jobs', jobOf('1', 'sleep 1; exit 1', update))
  const before = await ends(1, 'running')
  t.equal(before.TaskGroups.g.DesiredTotal, 3)
  await cluster.kill(leader)
  const failed = await ends(1, 'failed')
  t.equal(
    failed.StatusDescription,
    'Failed due to progress deadline - rolling back to job version 0',
  )
  await ends(2, 'successful')
  const back = (await http.json('GET', '/v1/job/web')) as { Version: number; Stable: boolean }
  t.match(back, { Version: 2, Stable: true })
  const kept = await live(http)
  t.same(
    kept.map(({ JobVersion }) => JobVersion),
    [2, 2, 2],
  )
  await cluster.server(leader).start()

  // A canary beside the three, and then all.
  await put(http, '/v1/jobs', jobOf('3', runs, { Canary: 1 }))
  const canarying = await until(3, 'has a healthy canary', ({ TaskGroups: { g } }) => {
    return g.HealthyAllocs === 1
  })
  t.match(canarying.StatusDescription, /requires manual promotion/)
  t.equal((await live(http)).length, 4)
  await tagged(http, ['canary', 'live', 'live', 'live'])
  const [canary] = canarying.TaskGroups.g.PlacedCanaries ?? []
  await put(http, `/v1/deployment/promote/${canarying.ID}`, { All: true })
  const done = await ends(3, 'successful')
  t.match(done.TaskGroups.g, { Promoted: true, HealthyAllocs: 3 })
  await eventuallyTrue('three of the new version run', async () => {
    const now = await live(http)
    return now.length === 3 && now.every(({ JobVersion }) => JobVersion === 3)
  })
  t.ok((await live(http)).some(({ ID }) => ID === canary))
  await tagged(http, ['live', 'live', 'live'])
  await put(http, '/v1/job/web', jobOf('4', runs, { Canary: 1 }))
  await ends(4, 'running')
  await http.request('DELETE', '/v1/job/web')
  await ends(4, 'cancelled')
})
