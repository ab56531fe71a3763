/**
 * The leader is killed while a job is updated a few at a time, and while a node with many allocations is emptied: both go on under the
 * next one, nothing runs twice, and no registration that was acknowledged is lost.
 */
import t, { type Test } from 'tap'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { deploymentsOf } from '../support/deployments.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { mockTask } from '../support/mock-task.ts'
import { runsTasks, watchTasks, type TaskWatch } from '../support/task-watch.ts'

t.setTimeout(300_000)

const second = 1_000_000_000
const count = 10
const killSeconds = 1
/** The old process of a name may be ended while the new one begins: for its time to end, and until its agent has heard of it. */
const overlapMsMax = killSeconds * 1_000 + 2_000
/** Of them half is on the node that is drained. */
const manyMocks = 120

type Allocation = {
  readonly ID: string
  readonly NodeName: string
  readonly JobVersion: number
  readonly ClientStatus: string
  readonly DesiredStatus: string
}

function webOf(watch: TaskWatch, version: string) {
  const group = {
    Name: 'g',
    Count: count,
    EphemeralDisk: { SizeMB: 10 },
    RestartPolicy: { Attempts: 0, Mode: 'fail' },
    Update: { MaxParallel: 2, MinHealthyTime: second / 5, HealthyDeadline: 60 * second },
    Migrate: { MaxParallel: 1, MinHealthyTime: second / 5, HealthyDeadline: 60 * second },
    Tasks: [watch.task({ version, killSeconds })],
  }
  return { ID: 'web', Datacenters: ['dc1'], TaskGroups: [group] }
}

/** Runs nothing, on both nodes. */
function manyOf(id: string, groupCount: number) {
  const group = {
    Name: 'g',
    Count: groupCount,
    EphemeralDisk: { SizeMB: 10 },
    Update: { MaxParallel: 0 },
    Tasks: [mockTask],
  }
  return { ID: id, Datacenters: ['dc1'], TaskGroups: [group] }
}

/** Registers one job after the other at servers that live, and keeps what was acknowledged. */
class Registrar {
  readonly acknowledged: { readonly id: string; readonly index: number }[] = []
  readonly #cluster: Cluster
  readonly #running: Promise<void>
  #isStopped = false

  constructor(cluster: Cluster) {
    this.#cluster = cluster
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    for (let at = 0; !this.#isStopped; at += 1) {
      const id = `small-${at}`
      const body = JSON.stringify({ Job: manyOf(id, 0) })
      const reply = await this.#cluster
        .http(at % this.#cluster.size)
        .request('PUT', '/v1/jobs', { body, timeoutMs: 3_000 })
        .catch(() => null)
      if (reply?.status === 200) {
        const { JobModifyIndex } = JSON.parse(reply.body.toString()) as { JobModifyIndex: number }
        this.acknowledged.push({ id, index: JobModifyIndex })
      }
    }
  }
}

/** A server that runs. */
function running(cluster: Cluster): number {
  return cluster.all.find((one) => cluster.server(one).running) ?? 0
}

async function put(cluster: Cluster, path: string, body: object): Promise<void> {
  const at = await cluster.follower()
  const { status, body: answer } = await cluster
    .http(at)
    .request('PUT', path, { body: JSON.stringify(body) })
  if (status !== 200) throw new Error(`${path}: ${status} ${answer.toString()}`)
}

async function allocationsOf(cluster: Cluster, job: string): Promise<readonly Allocation[]> {
  const at = running(cluster)
  return (await cluster.http(at).json('GET', `/v1/job/${job}/allocations`)) as readonly Allocation[]
}

function isLive({ ClientStatus, DesiredStatus }: Allocation): boolean {
  return ClientStatus === 'running' && DesiredStatus === 'run'
}

/** Each of these once, and no other process. */
async function runsJust(t: Test, cluster: Cluster, watch: TaskWatch, version: number) {
  const live = await eventually(
    'all run',
    async () => {
      const all = await allocationsOf(cluster, 'web')
      const rows = all.filter(isLive)
      const ids = rows.map(({ ID }) => ID).toSorted()
      const alive = watch.alive().map(({ allocation }) => allocation)
      if (rows.length === count && ids.join() === alive.toSorted().join()) return rows
      const others = all.filter((row) => row.DesiredStatus === 'run' && !isLive(row))
      throw new Error(JSON.stringify({ ids, alive, others }))
    },
    { timeoutMs: 60_000 },
  ).catch((error: unknown) => {
    throw new Error(String(error instanceof Error ? error.cause : error), { cause: error })
  })
  t.same([...new Set(live.map(({ JobVersion }) => JobVersion))], [version])
  t.same(watch.beganTwice(), [], 'no allocation began twice')
  const longest = Math.max(0, ...watch.overlaps().map(({ ms }) => Math.round(ms)))
  t.ok(longest < overlapMsMax, `two processes of one name for ${longest} ms at most`)
}

/** At once, with SIGKILL, and started again later. */
async function leaderDies(cluster: Cluster): Promise<number> {
  const leader = await cluster.waitForLeader()
  await cluster.kill(leader)
  return leader
}

t.test('an update and a drain go on over lost leaders', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  const watch = watchTasks(t, cluster)
  const { until, ends } = deploymentsOf('web', () => cluster.http(running(cluster)))
  const mock = { mock_driver: { config: { enabled: true } } }
  const config = { plugin: { ...runsTasks.plugin, ...mock } }
  for (const name of ['c1', 'c2']) await startClientAgent(t, cluster, { name, config })
  const nodes = await eventually('both nodes are ready', async () => {
    const found = (await cluster.http(0).json('GET', '/v1/nodes')) as {
      ID: string
      Name: string
      Status: string
    }[]
    return found.filter(({ Status }) => Status === 'ready').length === 2 ? found : undefined
  })
  await put(cluster, '/v1/jobs', { Job: webOf(watch, '0') })
  await ends(0, 'successful')
  const registrar = new Registrar(cluster)
  t.teardown(() => registrar.stop())

  await put(cluster, '/v1/jobs', { Job: webOf(watch, '1') })
  await until(1, 'has begun', ({ TaskGroups: { g } }) => g.HealthyAllocs >= 2)
  const first = await leaderDies(cluster)
  await until(1, 'goes on', ({ TaskGroups: { g } }) => g.HealthyAllocs >= 6)
  await cluster.server(first).start()
  const next = await leaderDies(cluster)
  await cluster.server(next).start()
  await ends(1, 'successful')
  await runsJust(t, cluster, watch, 1)

  await put(cluster, '/v1/jobs', { Job: manyOf('many', manyMocks) })
  await eventuallyTrue(
    'many run',
    async () => (await allocationsOf(cluster, 'many')).filter(isLive).length === manyMocks,
    { timeoutMs: 90_000 },
  )
  const drained = nodes.find(({ Name }) => Name === 'c1')?.ID ?? ''
  const onDrained = (await allocationsOf(cluster, 'many')).filter(
    ({ NodeName }) => NodeName === 'c1',
  )
  t.comment(`${onDrained.length} of many on the drained node`)
  await put(cluster, `/v1/node/${drained}/drain`, { DrainSpec: { Deadline: 15 * second } })
  await eventuallyTrue('the drain has begun', async () =>
    (await allocationsOf(cluster, 'web')).some(
      ({ NodeName, DesiredStatus, JobVersion }) =>
        NodeName === 'c1' && DesiredStatus === 'stop' && JobVersion === 1,
    ),
  )
  const third = await leaderDies(cluster)
  const other = (third + 1) % cluster.size
  await eventuallyTrue(
    'the drain is complete',
    async () => {
      const node = (await cluster.http(other).json('GET', `/v1/node/${drained}`)) as {
        DrainStrategy: object | null
      }
      return node.DrainStrategy === null
    },
    { timeoutMs: 90_000 },
  )
  await cluster.server(third).start()
  await registrar.stop()
  await runsJust(t, cluster, watch, 1)
  await eventuallyTrue('many run elsewhere', async () => {
    const live = (await allocationsOf(cluster, 'many')).filter(isLive)
    return live.length === manyMocks && live.every(({ NodeName }) => NodeName === 'c2')
  })

  await cluster.waitForLeader()
  const jobs = (await cluster.http(0).json('GET', '/v1/jobs?prefix=small-')) as {
    ID: string
    JobModifyIndex: number
  }[]
  const indexOf = new Map(jobs.map(({ ID, JobModifyIndex }) => [ID, JobModifyIndex]))
  const { acknowledged } = registrar
  t.ok(acknowledged.length > 20, `${acknowledged.length} registrations were acknowledged`)
  const lost = acknowledged.filter(({ id, index }) => indexOf.get(id) !== index)
  t.same(lost, [], 'all are there')
})
