/**
 * A client agent that stands still while its tasks run on: its work is replaced elsewhere, and once it goes on its old tasks are
 * stopped. Who runs is told by pid.
 */
import t, { type Test } from 'tap'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import type { HttpClient } from '../support/http-client.ts'
import { runsTasks, watchTasks, type TaskWatch } from '../support/task-watch.ts'

t.setTimeout(240_000)

const killSeconds = 3
/** From the thaw until servers have said what is to stop, and what ends has ended. */
const slackMs = 2_000

type Shown = {
  readonly ID: string
  readonly NodeName: string
  readonly ClientStatus: string
  readonly DesiredStatus: string
}

function jobOf(watch: TaskWatch) {
  const group = (name: string, stubborn: boolean) => ({
    Name: name,
    Count: 2,
    EphemeralDisk: { SizeMB: 10 },
    Tasks: [watch.task({ stubborn, killSeconds })],
  })
  const groups = [group('obeys', false), group('stubborn', true)]
  return { ID: 'web', Type: 'service', Datacenters: ['dc1'], TaskGroups: groups }
}

async function allocationsOf(http: HttpClient): Promise<readonly Shown[]> {
  return (await http.json('GET', '/v1/job/web/allocations')) as readonly Shown[]
}

async function isReady(http: HttpClient, name: string): Promise<void> {
  await eventuallyTrue(`${name} is ready`, async () => {
    const nodes = (await http.json('GET', '/v1/nodes')) as readonly Record<string, string>[]
    return nodes.some(({ Name, Status }) => Name === name && Status === 'ready')
  })
}

/** All of them, and on this node. */
async function runOn(http: HttpClient, node: string, watch: TaskWatch): Promise<readonly string[]> {
  return eventually(
    `four run on ${node}`,
    async () => {
      const live = (await allocationsOf(http)).filter(
        ({ NodeName, ClientStatus, DesiredStatus }) =>
          NodeName === node && ClientStatus === 'running' && DesiredStatus === 'run',
      )
      const ids = live.map(({ ID }) => ID)
      const alive = watch.alive().map(({ allocation }) => allocation)
      return ids.length === 4 && ids.every((id) => alive.includes(id)) ? ids : undefined
    },
    { timeoutMs: 60_000 },
  )
}

/** After the thaw: those that obey at once, the others when their time to end is over. */
async function end(t: Test, watch: TaskWatch, old: readonly string[]): Promise<void> {
  const thawedMs = performance.now()
  const left = (group: string) =>
    watch.alive().filter(({ allocation, name }) => {
      return old.includes(allocation) && name.startsWith(`web.${group}[`)
    })
  for (const [group, mostMs] of [
    ['obeys', slackMs],
    ['stubborn', killSeconds * 1_000 + slackMs],
  ] as const) {
    await eventuallyTrue(`the old tasks of ${group} end`, () => left(group).length === 0)
    const tookMs = Math.round(performance.now() - thawedMs)
    t.ok(tookMs < mostMs, `${group}: ended ${tookMs} ms after the thaw`)
  }
}

t.test('what was replaced meanwhile ends when a frozen agent goes on', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  const watch = watchTasks(t, cluster)
  const http = cluster.http(0)
  const c1 = await startClientAgent(t, cluster, { name: 'c1', config: runsTasks })
  await isReady(http, 'c1')
  const body = JSON.stringify({ Job: jobOf(watch) })
  t.equal((await http.request('PUT', '/v1/jobs', { body })).status, 200)
  const first = await runOn(http, 'c1', watch)
  const c2 = await startClientAgent(t, cluster, { name: 'c2', config: runsTasks })
  await isReady(http, 'c2')

  c1.process.pause()
  const second = await runOn(http, 'c2', watch)
  t.equal(watch.alive().length, 8, 'the tasks of the frozen agent run on')
  c1.process.resume()
  await end(t, watch, first)
  await isReady(http, 'c1')
  await eventuallyTrue('the servers know how they ended', async () => {
    const rows = (await allocationsOf(http)).filter(({ ID }) => first.includes(ID))
    return rows.every(
      ({ ClientStatus, DesiredStatus }) => ClientStatus === 'complete' && DesiredStatus === 'stop',
    )
  })

  // The same for a job that is forgotten while the agent stands still.
  c2.process.pause()
  await runOn(http, 'c1', watch)
  t.equal((await http.request('DELETE', '/v1/job/web?purge=true')).status, 200)
  c2.process.resume()
  await end(t, watch, second)
  await eventuallyTrue('nothing runs', () => watch.alive().length === 0)
  t.same(watch.beganTwice(), [])
  t.equal(watch.began().length, 12, 'nothing was begun anew')
})
