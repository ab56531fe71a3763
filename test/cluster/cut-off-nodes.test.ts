/**
 * Two of three client agents lose the servers for a while, and their tasks run on: what may be cut off comes back as it was, what took its
 * place meanwhile goes, and what must not run on ends by itself.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startClientAgent, type ClientAgent } from '../support/client-agent.ts'
import { startCluster, steadyLeadership, type Cluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import type { HttpClient } from '../support/http-client.ts'
import { Network } from '../support/network.ts'

t.setTimeout(300_000)

const cutOffMs = 20_000
const second = 1_000_000_000

type State = { readonly Restarts: number; readonly Events: readonly { readonly Type: string }[] }

type Shown = {
  readonly ID: string
  readonly Name: string
  readonly NodeName: string
  readonly ClientStatus: string
  readonly DesiredStatus: string
  readonly TaskStates: Readonly<Record<string, State>> | null
}

/** Writes its process id under the id of its allocation each time that it starts. */
const script = 'echo $$ >> "$MARKS/$NOMAD_ALLOC_ID"; while [ -d "$MARKS" ]; do sleep 0.2; done'

function jobOf(id: string, marks: string, group: Readonly<Record<string, unknown>>): string {
  const task = {
    Name: 'main',
    Driver: 'raw_exec',
    Config: { command: '/bin/sh', args: ['-c', script] },
    Env: { MARKS: marks },
    KillTimeout: second,
    Resources: { CPU: 10, MemoryMB: 16 },
    LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
  }
  const more = { EphemeralDisk: { SizeMB: 10 }, Update: { MaxParallel: 0 }, ...group }
  const groups = [{ Name: 'g', Count: 6, Tasks: [task], ...more }]
  // Each node has its share.
  const Spreads = [{ Attribute: '${node.unique.name}', Weight: 100 }]
  return JSON.stringify({ Job: { ID: id, Datacenters: ['dc1'], Spreads, TaskGroups: groups } })
}

async function allocationsOf(http: HttpClient, job: string): Promise<readonly Shown[]> {
  return (await http.json('GET', `/v1/job/${job}/allocations`)) as readonly Shown[]
}

const isLive = ({ DesiredStatus, ClientStatus }: Shown) =>
  DesiredStatus === 'run' && ClientStatus === 'running'

/** All six run, each name once, on that node if one is named. */
async function running(http: HttpClient, job: string, on?: string): Promise<readonly Shown[]> {
  return eventually(
    `six of ${job} run`,
    async () => {
      const live = (await allocationsOf(http, job)).filter(isLive)
      const isOne = new Set(live.map(({ Name }) => Name)).size === 6
      const isThere = live.every(({ NodeName }) => on === undefined || NodeName === on)
      return live.length === 6 && isOne && isThere ? live : undefined
    },
    { timeoutMs: 60_000 },
  )
}

async function summaryOf(http: HttpClient, job: string) {
  const { Summary } = (await http.json('GET', `/v1/job/${job}/summary`)) as {
    readonly Summary: Readonly<Record<string, Readonly<Record<string, number>>>>
  }
  return Summary['g']
}

async function statusesOf(http: HttpClient): Promise<Readonly<Record<string, string>>> {
  const nodes = (await http.json('GET', '/v1/nodes')) as readonly {
    readonly Name: string
    readonly Status: string
  }[]
  return Object.fromEntries(nodes.map(({ Name, Status }) => [Name, Status]))
}

/** Process ids, one for each start. */
function pidsOf(marks: string, id: string): readonly number[] {
  const text = readFileSync(join(marks, id), 'utf8').trim()
  return text === '' ? [] : text.split('\n').map(Number)
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

function aliveIn(marks: string): readonly string[] {
  return readdirSync(marks)
    .filter((id) => pidsOf(marks, id).some(isAlive))
    .toSorted()
}

function marksOf(t: Test): string {
  const marks = t.testdir()
  t.teardown(() => {
    for (const id of readdirSync(marks)) {
      for (const pid of pidsOf(marks, id)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    }
  })
  return marks
}

/** From now on it asks servers by these ways alone. */
async function goBy({ http, process }: ClientAgent, addresses: readonly string[]): Promise<void> {
  const search = addresses.map((address) => `address=${address}`).join('&')
  const { status, body } = await http.request('PUT', `/v1/agent/servers?${search}`)
  if (status !== 200) throw new Error(`PUT /v1/agent/servers: ${status} ${body.toString()}`)
  await eventuallyTrue('its uplink goes that way', async () => {
    const log = await process.logTail(1_000)
    const last = [...log.matchAll(/the node is registered: server=(\S+)/g)].at(-1)?.[1]
    return addresses.some((address) => address === last)
  })
}

/** The first two agents reach the servers through the network that is returned. */
async function agentsBehind(t: Test, cluster: Cluster): Promise<Network> {
  const servers = cluster.servers.map(({ spec }) => `127.0.0.1:${spec.ports.http}`)
  const network = await Network.start(['127.0.0.1:1', ...servers], 1)
  t.teardown(() => network.stop())
  const ways = servers.map((_, at) => network.addressFor(0, at + 1))
  const config = { plugin: { raw_exec: { config: { enabled: true } } } }
  for (const name of ['c1', 'c2', 'c3']) {
    const agent = await startClientAgent(t, cluster, { name, config })
    // An uplink that is on its way to a server would stay there.
    await eventuallyTrue(
      `${name} is ready`,
      async () => (await statusesOf(cluster.http(0)))[name] === 'ready',
    )
    if (name !== 'c3') await goBy(agent, ways)
  }
  await eventuallyTrue('all nodes are ready', async () => {
    const statuses = Object.values(await statusesOf(cluster.http(0)))
    return statuses.length === 3 && statuses.every((status) => status === 'ready')
  })
  return network
}

t.test('most agents are cut off, and come back', async (t) => {
  const cluster = await startCluster(t, {
    gossip: true,
    server: { min_heartbeat_ttl: '1s', heartbeat_grace: '1s', failover_heartbeat_ttl: '4s' },
    raft: steadyLeadership,
  })
  const network = await agentsBehind(t, cluster)
  const http = cluster.http(0)
  const marks = marksOf(t)
  const groups = {
    rides: { MaxClientDisconnect: 600 * second },
    short: { MaxClientDisconnect: 8 * second },
    ends: { StopAfterClientDisconnect: 4 * second },
  }
  const before = new Map<string, readonly Shown[]>()
  for (const [id, group] of Object.entries(groups)) {
    const { status, body } = await http.request('PUT', '/v1/jobs', {
      body: jobOf(id, marks, group),
    })
    if (status !== 200) throw new Error(body.toString())
    before.set(id, await running(http, id))
  }
  const cutOff = (job: string) =>
    (before.get(job) ?? []).filter(({ NodeName }) => NodeName !== 'c3').map(({ ID }) => ID)
  for (const job of before.keys()) t.ok(cutOff(job).length >= 2, `${job} is on all nodes`)
  // On a busy machine a shell that runs has not said so at once.
  await eventuallyTrue('all of it left its mark', () =>
    Promise.resolve(aliveIn(marks).length === 6 * before.size),
  )
  const pids = new Map(cutOff('rides').map((id) => [id, pidsOf(marks, id)]))

  await network.isolate(0)
  const sinceMs = performance.now()
  await eventuallyTrue('both are disconnected', async () => {
    const { c1, c2 } = await statusesOf(http)
    return c1 === 'disconnected' && c2 === 'disconnected'
  })
  const meanwhile = new Map<string, readonly Shown[]>()
  for (const job of before.keys()) meanwhile.set(job, await running(http, job, 'c3'))
  t.match(await summaryOf(http, 'rides'), { Running: 6, Unknown: cutOff('rides').length })
  await eventuallyTrue('those of a short time are lost', async () => {
    const rows = new Map((await allocationsOf(http, 'short')).map((row) => [row.ID, row]))
    return cutOff('short').every((id) => rows.get(id)?.ClientStatus === 'lost')
  })
  t.notOk(
    cutOff('ends').some((id) => pidsOf(marks, id).some(isAlive)),
    'what is to end without servers ended before others took its place',
  )
  await eventuallyTrue('they were cut off for a while', () =>
    Promise.resolve(performance.now() - sinceMs > cutOffMs),
  )
  t.match(await statusesOf(http), { c1: 'disconnected', c2: 'disconnected', c3: 'ready' })

  await network.heal()
  await eventuallyTrue('both are ready again', async () => {
    const { c1, c2 } = await statusesOf(http)
    return c1 === 'ready' && c2 === 'ready'
  })
  await eventuallyTrue('all of it is as it was', async () => {
    const live = await running(http, 'rides')
    return cutOff('rides').every((id) => live.some(({ ID }) => ID === id))
  })
  await eventuallyTrue('the counts are right', async () => {
    const { Running, Unknown, Starting } = (await summaryOf(http, 'rides')) ?? {}
    return Running === 6 && Unknown === 0 && Starting === 0
  })
  const after = await running(http, 'rides')
  for (const [id, first] of pids) {
    t.same(pidsOf(marks, id), first, 'it was never started again')
    t.ok(first.every(isAlive))
    const shown = after.find(({ ID }) => ID === id)
    t.match(shown?.TaskStates?.['main'], { Restarts: 0, Events: { length: 4 } })
    t.equal(shown?.TaskStates?.['main']?.Events.at(-1)?.Type, 'Reconnected')
  }
  const wanted = async (): Promise<readonly string[]> => {
    const live = await Promise.all([...before.keys()].map((job) => running(http, job)))
    return live.flatMap((rows) => rows.map(({ ID }) => ID)).toSorted()
  }
  await eventuallyTrue(
    'exactly that runs',
    async () => aliveIn(marks).join() === (await wanted()).join(),
    { timeoutMs: 60_000 },
  )
  for (const job of ['short', 'ends']) {
    const kept = (meanwhile.get(job) ?? []).map(({ ID }) => ID)
    t.same((await running(http, job)).map(({ ID }) => ID).toSorted(), kept.toSorted())
  }
})
