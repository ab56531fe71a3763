/** Client agents as nodes beside real servers: who lives, who is down, and what is reached over an uplink. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { startClientAgent, type ClientAgent } from '../support/client-agent.ts'
import { sharedCluster, startCluster, type Cluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import type { HttpClient } from '../support/http-client.ts'

type ShownNode = {
  readonly ID: string
  readonly Name: string
  readonly Status: string
  readonly SchedulingEligibility: string
  readonly DrainStrategy: object | null
  readonly LastDrain: { readonly Status: string } | null
  readonly CreateIndex: number
  readonly ModifyIndex: number
  readonly Events: readonly { readonly Message: string; readonly Details: object | null }[]
}

t.setTimeout(300_000)

/** A killed machine is down within this. */
const downMs = 10_000

async function nodesOf(http: HttpClient): Promise<readonly ShownNode[]> {
  return (await http.json('GET', '/v1/nodes')) as readonly ShownNode[]
}

async function nodeOf(http: HttpClient, id: string): Promise<ShownNode> {
  return (await http.json('GET', `/v1/node/${id}`)) as ShownNode
}

async function isReady(cluster: Cluster, name: string, at = 0): Promise<string> {
  return eventually(`${name} is ready`, async () => {
    const found = (await nodesOf(cluster.http(at))).find(({ Name }) => Name === name)
    return found?.Status === 'ready' ? found.ID : undefined
  })
}

async function becomes(cluster: Cluster, id: string, status: string, timeoutMs = 30_000, at = 0) {
  await eventuallyTrue(
    `${id} is ${status}`,
    async () => (await nodeOf(cluster.http(at), id)).Status === status,
    { timeoutMs },
  )
}

/** Where its uplink is. */
async function holderOf(cluster: Cluster, client: ClientAgent): Promise<number> {
  return eventually('an uplink is held', async () => {
    const log = await client.process.logTail(5_000)
    const found = [...log.matchAll(/the node is registered: server=(\S+)/g)].at(-1)?.[1]
    const at = cluster.servers.findIndex(({ spec }) => found === `127.0.0.1:${spec.ports.http}`)
    return at < 0 ? undefined : at
  })
}

async function withClients(t: Test, cluster: Cluster) {
  const clients = [
    await startClientAgent(t, cluster, { name: 'c1' }),
    await startClientAgent(t, cluster, { name: 'c2' }),
  ] as const
  const ids = [await isReady(cluster, 'c1'), await isReady(cluster, 'c2')] as const
  return { clients, ids }
}

const clusterOfThree = sharedCluster(t, { gossip: true })

void t.test(
  'agents are nodes: ready, down within ten seconds of a kill, ready again',
  async (t) => {
    const cluster = await clusterOfThree()
    const { clients, ids } = await withClients(t, cluster)
    const [c1] = clients
    const [id, other] = ids
    const node = await nodeOf(cluster.http(0), id)
    t.match(node, { Name: 'c1', Datacenter: 'dc1', SecretID: '', DrainStrategy: null })
    t.equal(node.Events[0]?.Message, 'Node registered')
    const beganMs = performance.now()
    await c1.process.kill()
    await becomes(cluster, id, 'down')
    const tookMs = Math.round(performance.now() - beganMs)
    t.comment(`down after ${tookMs} ms`)
    t.ok(tookMs < downMs, `down after ${tookMs} ms`)
    t.equal((await nodeOf(cluster.http(0), other)).Status, 'ready')
    await c1.process.start()
    await becomes(cluster, id, 'ready')
    const messages = (await nodeOf(cluster.http(0), id)).Events.map(({ Message }) => Message)
    t.same(messages.slice(0, 2), ['Node registered', 'Node heartbeat missed'])
    t.ok(messages.includes('Node reregistered by heartbeat'))
  },
)

void t.test(
  'an agent that is stopped in order has the time of a heartbeat to be back',
  async (t) => {
    const cluster = await clusterOfThree()
    const c3 = await startClientAgent(t, cluster, { name: 'c3' })
    const id = await isReady(cluster, 'c3')
    const beganMs = performance.now()
    await c3.process.terminate()
    await becomes(cluster, id, 'down', 60_000)
    const tookMs = Math.round(performance.now() - beganMs)
    t.comment(`down after ${tookMs} ms`)
    t.ok(tookMs > 2 * downMs, `down after ${tookMs} ms`)
    await c3.process.start()
    await becomes(cluster, id, 'ready')
  },
)

void t.test(
  'no node turns down because the leader or the server with its uplink dies',
  async (t) => {
    const cluster = await startCluster(t, { gossip: true })
    const { clients, ids } = await withClients(t, cluster)
    const before = await Promise.all(ids.map((id) => nodeOf(cluster.http(0), id)))
    const leader = await cluster.waitForLeader()
    await cluster.kill(leader)
    const next = await cluster.waitForLeader({ except: leader })
    await cluster.server(leader).start()
    await cluster.waitForLeader()

    const [c1] = clients
    const holder = await holderOf(cluster, c1)
    await cluster.kill(holder)
    await eventuallyTrue('the agent moved', async () => (await holderOf(cluster, c1)) !== holder)
    await cluster.waitForLeader({ except: holder })
    const at = holder === next ? (next + 1) % cluster.size : next
    // Over an uplink that has just moved, from a server that may not hold it.
    await eventually('the agent is reached', async () => {
      const { status } = await cluster.http(at).request('GET', `/v1/agent/host?node_id=${ids[0]}`)
      return status === 200 ? true : undefined
    })
    for (const [position, id] of ids.entries()) {
      const { Status, Events, CreateIndex } = await nodeOf(cluster.http(at), id)
      t.equal(Status, 'ready')
      t.same(
        Events.map(({ Message }) => Message),
        ['Node registered'],
      )
      t.equal(CreateIndex, before[position]?.CreateIndex)
    }
  },
)

void t.test('a frozen agent is down, and ready once it goes on', async (t) => {
  const cluster = await clusterOfThree()
  const { clients, ids } = await withClients(t, cluster)
  const [c1] = clients
  // It answers neither gossip nor its uplink, whose connection stands.
  c1.process.pause()
  const beganMs = performance.now()
  await becomes(cluster, ids[0], 'down')
  t.comment(`a frozen agent is down after ${Math.round(performance.now() - beganMs)} ms`)
  t.equal((await nodeOf(cluster.http(0), ids[1])).Status, 'ready')
  c1.process.resume()
  await becomes(cluster, ids[0], 'ready')
})

void t.test(
  'operators set eligibility, drain, purge; agents are reached by their node',
  async (t) => {
    const cluster = await clusterOfThree()
    const { clients, ids } = await withClients(t, cluster)
    const [id] = ids
    for (const at of cluster.all) {
      const http = cluster.http(at)
      const host = (await http.json('GET', `/v1/agent/host?node_id=${id}`)) as { AgentID: string }
      t.equal(host.AgentID, 'c1.global', 'any server reaches the agent')
    }
    const fromOther = await clients[1].http.json('GET', `/v1/agent/host?node_id=${id}`)
    t.match(fromOther, { AgentID: 'c1.global' }, 'so does another client agent')
    const denied = await cluster.http(0).request('GET', `/v1/agent/pprof/heap?node_id=${id}`)
    t.equal(denied.status, 403, 'the setting of the target counts')

    const http = cluster.http(0)
    const body = JSON.stringify({ DrainSpec: { Deadline: 3_600_000_000_000 } })
    const { status, body: text } = await http.request('PUT', `/v1/node/${id}/drain`, { body })
    t.equal(status, 200)
    const { Index } = JSON.parse(text.toString()) as { Index: number }
    const drained = (await http.json('GET', `/v1/node/${id}?index=${Index}&wait=20s`)) as ShownNode
    t.match(drained, { DrainStrategy: null, SchedulingEligibility: 'ineligible' })
    t.match(drained, { LastDrain: { Status: 'complete' } })
    t.same(drained.Events.map(({ Message }) => Message).slice(-2), [
      'Node drain strategy set',
      'Node drain complete',
    ])
    await http.request('PUT', `/v1/node/${id}/eligibility`, { body: '{"Eligibility":"eligible"}' })
    t.match(await nodeOf(http, id), { SchedulingEligibility: 'eligible' })

    t.equal((await http.request('PUT', `/v1/node/${id}/purge`)).status, 200)
    await eventuallyTrue('it registers again', async () => {
      const again = await nodeOf(http, id)
      return again.Status === 'ready' && again.CreateIndex > drained.ModifyIndex
    })
  },
)

void t.test('the log of a node is followed over its uplink', async (t) => {
  const cluster = await clusterOfThree()
  const { clients, ids } = await withClients(t, cluster)
  const path = `/v1/agent/monitor?node_id=${ids[0]}&plain=true&log_level=debug`
  const port = clients[1].process.spec.ports.http
  const request = get({ host: '127.0.0.1', port, path })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  t.equal(answer.statusCode, 200)
  let seen = ''
  answer.on('data', (chunk: Buffer) => (seen += chunk.toString()))
  await eventuallyTrue('a line came', async () => {
    await clients[0].http.request('GET', '/v1/agent/self')
    return seen.includes('[')
  })
  request.destroy()
})

void t.test('a server that stands still, or is cut off, takes no node down with it', async (t) => {
  const cluster = await startCluster(t, {
    gossip: true,
    server: { min_heartbeat_ttl: '4s', heartbeat_grace: '4s' },
  })
  const { clients, ids } = await withClients(t, cluster)
  const [c1] = clients
  // The leader too, where it holds the uplink: then another one leads.
  const holder = await holderOf(cluster, c1)
  const at = (holder + 1) % cluster.size
  cluster.pause(holder)
  await eventuallyTrue('the agent moved', async () => (await holderOf(cluster, c1)) !== holder, {
    timeoutMs: 60_000,
  })
  await becomes(cluster, ids[0], 'ready', 30_000, at)
  cluster.resume(holder)
  await cluster.waitForLeader()
  for (const id of ids) {
    const { Status, Events } = await nodeOf(cluster.http(at), id)
    t.equal(Status, 'ready')
    t.notMatch(Events, [{}, { Message: 'Node heartbeat missed' }])
  }
})
