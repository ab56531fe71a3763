/**
 * An attacker in the gossip pool, with the key where there is one, as every client agent holds it: what it says moves no
 * server out of the cluster, ends no session of a living agent, and makes no node. Without the key nobody listens to it.
 */
import t, { type Test } from 'tap'
import { startClientAgent, type ClientAgent } from '../support/client-agent.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { forgedAlive, forgedDeath, GossipForger } from '../support/gossip-forger.ts'
import type { HttpClient } from '../support/http-client.ts'
import { membersSeenBy, voters } from '../support/members.ts'
import { SteadyWriter } from '../support/writer.ts'

const key = Buffer.alloc(32, 7).toString('base64')
const forgedMs = 1_000
const madeUp = 1_500
/** Some are lost on their way, and a table of members has a bound. */
const madeUpSeenMin = 500

type Tagged = { readonly Name: string; readonly Tags: Readonly<Record<string, string>> }
type Attacked = {
  readonly cluster: Cluster
  readonly client: ClientAgent
  readonly leader: number
  readonly ports: readonly number[]
  readonly tagsOf: (name: string) => Readonly<Record<string, string>>
}

async function attacked(t: Test, encrypt: string | null): Promise<Attacked> {
  const encrypted = encrypt === null ? {} : { encrypt }
  const cluster = await startCluster(t, { gossip: true, server: encrypted })
  const client = await startClientAgent(t, cluster, { client: encrypted })
  const leader = await cluster.waitForLeader()
  const nodes = await eventually('the agent is a node', async () => {
    const found = await nodesOf(cluster, leader)
    return found.includes('c1') ? found : undefined
  })
  t.equal(nodes, 'c1 s1 s2 s3')
  const members = (await membersSeenBy(cluster, leader)) as unknown as readonly Tagged[]
  return {
    cluster,
    client,
    leader,
    ports: cluster.servers.map(({ spec }) => spec.ports.gossip),
    tagsOf: (name) => members.find(({ Name }) => Name === `${name}.global`)?.Tags ?? {},
  }
}

async function nodesOf(cluster: Cluster, at: number): Promise<string> {
  const nodes = await cluster.http(at).json('GET', '/v1/catalog/nodes')
  return (nodes as readonly { readonly Node: string }[]).map(({ Node }) => Node).join(' ')
}

async function statusesSeen({ cluster, leader }: Attacked): Promise<ReadonlySet<string>> {
  return new Set((await membersSeenBy(cluster, leader)).map(({ Status }) => Status))
}

type Look = { readonly seen: Set<string>; readonly look: () => Promise<void> }

/** Claims about these members for a while: in turn a farewell, a death, and life at a port where nobody listens. */
async function claimsOf(
  t: Test,
  { ports, tagsOf }: Attacked,
  forgerKey: string | null,
  names: readonly string[],
  { look, seen }: Look,
): Promise<readonly string[]> {
  const forger = await GossipForger.start(t, forgerKey)
  let incarnation = 100
  forger.keepSending(ports, (count) => {
    incarnation += 10
    return names.map((name) => {
      const node = `${name}.global`
      if (count % 3 === 0) return forgedDeath(node, incarnation, 'left')
      if (count % 3 === 1) return forgedDeath(node, incarnation, 'failed')
      return forgedAlive(node, incarnation, { ...tagsOf(name), port: '9' }, 9)
    })
  })
  const startMs = performance.now()
  await eventuallyTrue('the attack went on for a while', async () => {
    await look()
    return performance.now() - startMs > forgedMs
  })
  await forger.stop()
  return [...seen]
}

/** Voters, the leader and writes stay as they are. Returns what statuses gossip showed meanwhile. */
async function attackVoters(
  t: Test,
  attack: Attacked,
  forgerKey: string | null,
): Promise<ReadonlySet<string>> {
  const { cluster, leader } = attack
  const writer = new SteadyWriter([cluster.variables(leader)], 'under-attack')
  t.teardown(() => writer.stop())
  const followers = ['s1', 's2', 's3'].filter((name) => name !== `s${leader + 1}`)
  const statuses = new Set<string>()
  const seen = new Set<string>()
  const look = async () => {
    for (const at of cluster.all) seen.add(await voters(cluster, at))
    for (const status of await statusesSeen(attack)) statuses.add(status)
  }
  t.same(await claimsOf(t, attack, forgerKey, followers, { seen, look }), ['s1 s2 s3'])
  await writer.stop()
  t.comment(`${writer.accepted.length} writes, ${writer.failed} failed`)
  t.equal(writer.failed, 0, 'writes went on')
  t.equal(await cluster.waitForLeader(), leader, 'under the same leader')
  return statuses
}

/** Sessions of a living agent and of a server stay, and so does the lock that one of them holds. */
async function attackAgent(t: Test, attack: Attacked, forgerKey: string | null): Promise<void> {
  const { cluster, client, leader } = attack
  const server = cluster.http(leader)
  const sessionOn = (http: HttpClient, node: string) =>
    eventually(`a session on ${node}`, async () => {
      const body = JSON.stringify({ Node: node, LockDelay: '1s' })
      const reply = await http.request('PUT', '/v1/session/create', { body })
      if (reply.status !== 200) return undefined
      return (JSON.parse(reply.body.toString()) as { readonly ID: string }).ID
    })
  const ofAgent = await sessionOn(client.http, 'c1')
  const ofServer = await sessionOn(server, 's2')
  const acquired = `/v1/kv/lock?acquire=${ofAgent}`
  t.equal(await client.http.json('PUT', acquired, { body: 'held' }), true)

  const seen = new Set<string>()
  const look = async () => {
    for (const id of [ofAgent, ofServer]) {
      const found = (await server.json('GET', `/v1/session/info/${id}`)) as readonly unknown[]
      seen.add(`${found.length} session`)
    }
    const [lock] = (await server.json('GET', '/v1/kv/lock')) as readonly {
      readonly Session?: string
    }[]
    seen.add(lock?.Session === ofAgent ? 'held' : 'lost')
    seen.add(await nodesOf(cluster, leader))
  }
  const names = ['c1', 's2', ...Array.from({ length: 10 }, (_, at) => `made-up-${at}`)]
  const all = await claimsOf(t, attack, forgerKey, names, { seen, look })
  t.same(all, ['1 session', 'held', 'c1 s1 s2 s3'])
}

/** One packet after another of client agents that nobody runs. */
async function makeUpAgents(t: Test, attack: Attacked, forgerKey: string | null): Promise<void> {
  const { cluster, leader, ports, tagsOf } = attack
  const flood = await GossipForger.start(t, forgerKey)
  const made = Array.from({ length: madeUp }, (_, at) => {
    const id = `${String(at).padStart(8, '0')}-0000-4000-8000-000000000000`
    return forgedAlive(`made-up-${at}.global`, 1, { ...tagsOf('c1'), id }, 10_000 + at)
  })
  await flood.send(ports[leader] ?? 0, made)
  await eventuallyTrue('gossip believes in many of them', async () => {
    return (await membersSeenBy(cluster, leader)).length > madeUpSeenMin
  })
}

for (const [what, encrypt] of [
  ['without a gossip key', null],
  ['with the gossip key', key],
] as const) {
  void t.test(`an attacker ${what} steers nothing`, async (t) => {
    const attack = await attacked(t, encrypt)
    if (encrypt !== null) {
      const stranger = await attackVoters(t, attack, null)
      t.same([...stranger], ['alive'], 'who does not hold the key is not heard')
    }
    const statuses = await attackVoters(t, attack, encrypt)
    t.ok(statuses.has('failed') || statuses.has('left'), 'gossip believed some of it')
    await makeUpAgents(t, attack, encrypt)
    await attackAgent(t, attack, encrypt)
  })
}
