/**
 * Work of lower priority ends on a real machine for work of higher priority, while the leader is killed: the new task begins once the old
 * one has ended, and the old job comes back when there is room. Who runs is told by pid.
 */
import t from 'tap'
import { run } from '../cli/terminal.ts'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { runsTasks, watchTasks } from '../support/task-watch.ts'

t.setTimeout(240_000)

type Shown = {
  readonly ID: string
  readonly DesiredStatus: string
  readonly ClientStatus: string
  readonly PreemptedByAllocation: string
  readonly PreemptedAllocations: readonly string[] | null
}

t.test('a task begins once those that end for it have ended, whoever leads', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  const watch = watchTasks(t, cluster)
  await startClientAgent(t, cluster, { name: 'c1', config: runsTasks })
  const leader = await cluster.waitForLeader()
  const [follower = 0, other = 0] = cluster.all.filter((at) => at !== leader)
  const http = cluster.http(follower)
  const node = await eventually('the node is ready', async () => {
    const nodes = (await http.json('GET', '/v1/nodes')) as readonly Record<string, string>[]
    return nodes.find(({ Status }) => Status === 'ready')?.['ID']
  })
  const { NodeResources } = (await http.json('GET', `/v1/node/${node}`)) as {
    readonly NodeResources: { readonly Memory: { readonly MemoryMB: number } }
  }
  // Two of them have no room together.
  const memoryMb = Math.floor(0.6 * NodeResources.Memory.MemoryMB)
  const register = async (id: string, priority: number) => {
    const task = watch.task({ stubborn: true, killSeconds: 3, memoryMb })
    const group = { Name: 'g', EphemeralDisk: { SizeMB: 10 }, Tasks: [task] }
    const job = { ID: id, Type: 'service', Priority: priority, Datacenters: ['dc1'] }
    const body = JSON.stringify({ Job: { ...job, TaskGroups: [group] } })
    t.equal((await http.request('PUT', '/v1/jobs', { body })).status, 200)
  }
  const shown = async (id: string) =>
    (await http.json('GET', `/v1/job/${id}/allocations`)) as readonly Shown[]
  const running = (id: string) =>
    eventually(
      `${id} runs`,
      async () => (await shown(id)).find((one) => one.ClientStatus === 'running'),
      { timeoutMs: 60_000 },
    )
  const address = `http://127.0.0.1:${cluster.server(follower).spec.ports.http}`
  const set = ['operator', 'scheduler', 'set-config', '-preempt-service-scheduler']
  t.match(await run([...set, '-address', address]), { code: 0 })

  await register('low', 20)
  const before = await running('low')
  await register('high', 80)
  const after = await eventually('it is placed', async () => (await shown('high'))[0])
  t.same(after.PreemptedAllocations, [before.ID])
  await cluster.kill(leader)
  let together = 0
  const looking = setInterval(() => {
    const alive = new Set(watch.alive().map(({ allocation }) => allocation))
    if (alive.has(before.ID) && alive.has(after.ID)) together += 1
  }, 20)
  t.teardown(() => clearInterval(looking))
  await running('high')
  clearInterval(looking)
  t.equal(together, 0, 'never both')
  await eventuallyTrue('servers know it', async () => {
    const evicted = (await shown('low')).find(({ ID }) => ID === before.ID)
    return evicted?.ClientStatus === 'complete'
  })
  t.match(
    (await shown('low')).find(({ ID }) => ID === before.ID),
    { DesiredStatus: 'evict', PreemptedByAllocation: after.ID },
  )
  t.equal((await shown('low')).length, 1, 'the old job waits')

  t.equal((await cluster.http(other).request('DELETE', '/v1/job/high')).status, 200)
  await eventuallyTrue(
    'the old job runs again',
    async () => (await shown('low')).some(({ ClientStatus }) => ClientStatus === 'running'),
    { timeoutMs: 60_000 },
  )
  t.same(watch.beganTwice(), [])
})
