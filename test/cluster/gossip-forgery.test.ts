/**
 * An attacker in the gossip pool, with the key where there is one, as every client agent holds it: what it says moves no
 * server out of the cluster, and ends no session of a living agent.
 */
import t from 'tap'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { forgedAlive, forgedDeath, GossipForger } from '../support/gossip-forger.ts'
import { membersSeenBy, voters } from '../support/members.ts'
import { SteadyWriter } from '../support/writer.ts'

const key = Buffer.alloc(32, 7).toString('base64')
const forgedMs = 6_000
/** Of 9,000: some are lost on their way, and a table of members has a bound. */
const madeUpSeenMin = 500

type Tagged = { readonly Name: string; readonly Tags: Readonly<Record<string, string>> }

void t.test('forged farewells, deaths and addresses of servers change no voter', async (t) => {
  const cluster = await startCluster(t, { gossip: true, server: { encrypt: key } })
  const leader = await cluster.waitForLeader()
  const others = ['s1', 's2', 's3'].filter((name) => name !== `s${leader + 1}`)
  const members = (await membersSeenBy(cluster, leader)) as unknown as readonly Tagged[]
  const tagsOf = (name: string) => members.find(({ Name }) => Name === `${name}.global`)?.Tags ?? {}
  const ports = cluster.servers.map(({ spec }) => spec.ports.gossip)
  const writer = new SteadyWriter([cluster.variables(leader)], 'under-attack')
  t.teardown(() => writer.stop())

  const forger = await GossipForger.start(t, key)
  let incarnation = 100
  forger.keepSending(ports, (count) => {
    incarnation += 10
    return others.map((name) => {
      const node = `${name}.global`
      if (count % 3 === 0) return forgedDeath(node, incarnation, 'left')
      if (count % 3 === 1) return forgedDeath(node, incarnation, 'failed')
      // Its RPC listener, too, where nobody listens.
      return forgedAlive(node, incarnation, { ...tagsOf(name), port: '9' }, 9)
    })
  })
  const startMs = performance.now()
  const seen = new Set<string>()
  writer.takeLongestGapMs()
  await eventuallyTrue('the attack went on for a while', async () => {
    for (const at of cluster.all) seen.add(await voters(cluster, at))
    for (const { Status } of (await membersSeenBy(cluster, leader)) as readonly {
      Status: string
    }[])
      seen.add(Status)
    return performance.now() - startMs > forgedMs
  })
  await forger.stop()
  t.ok(seen.delete('left') || seen.has('failed'), 'gossip believed some of it')
  seen.delete('failed')
  seen.delete('leaving')
  seen.delete('alive')
  t.same([...seen], ['s1 s2 s3'])
  await writer.stop()
  t.comment(`${writer.accepted.length} writes, ${writer.failed} failed`)
  t.equal(writer.failed, 0, 'writes went on')
  t.equal(await cluster.waitForLeader(), leader, 'under the same leader')
})

void t.test(
  'forged words about an agent end no session, and made-up members are no nodes',
  async (t) => {
    const cluster = await startCluster(t, { gossip: true })
    const client = await startClientAgent(t, cluster)
    const leader = await cluster.waitForLeader()
    const server = cluster.http(leader)
    const put = async (path: string, body = '') => {
      const reply = await client.http.request('PUT', path, { body })
      return reply.status === 200 ? reply.body.toString() : undefined
    }
    const session = await eventually('a session on the agent', async () => {
      const created = await put('/v1/session/create', '{"LockDelay":"1s"}')
      return created === undefined ? undefined : (JSON.parse(created) as { readonly ID: string }).ID
    })
    t.equal(await put(`/v1/kv/lock?acquire=${session}`, 'held'), 'true')
    const ofServer = await eventually('a session on a server', async () => {
      const path = '/v1/session/create'
      const { status, body } = await server.request('PUT', path, { body: '{"Node":"s2"}' })
      return status === 200
        ? (JSON.parse(body.toString()) as { readonly ID: string }).ID
        : undefined
    })
    const nodes = async () =>
      ((await server.json('GET', '/v1/catalog/nodes')) as readonly { readonly Node: string }[])
        .map(({ Node }) => Node)
        .join(' ')
    t.equal(await nodes(), 'c1 s1 s2 s3')
    const members = (await membersSeenBy(cluster, leader)) as unknown as readonly Tagged[]
    const tags = members.find(({ Name }) => Name === 'c1.global')?.Tags ?? {}

    const flood = await GossipForger.start(t)
    const ports = cluster.servers.map(({ spec }) => spec.ports.gossip)
    const made = Array.from({ length: 9_000 }, (_, at) => {
      const id = `${String(at).padStart(8, '0')}-0000-4000-8000-000000000000`
      return forgedAlive(`made-up-${at}.global`, 1, { ...tags, id }, 10_000 + at)
    })
    await flood.send(ports[leader] ?? 0, made)
    await eventuallyTrue('gossip believes in many of them', async () => {
      return (await membersSeenBy(cluster, leader)).length > madeUpSeenMin
    })

    const forger = await GossipForger.start(t)
    let incarnation = 100
    forger.keepSending(ports, (count) => {
      incarnation += 10
      return ['c1.global', 's2.global'].map((node) => {
        if (count % 3 === 0) return forgedDeath(node, incarnation, 'left')
        if (count % 3 === 1) return forgedDeath(node, incarnation, 'failed')
        const own = members.find(({ Name }) => Name === node)?.Tags ?? {}
        return forgedAlive(node, incarnation, own, 9)
      })
    })
    const startMs = performance.now()
    const seen = new Set<string>()
    await eventuallyTrue('the attack went on for a while', async () => {
      for (const id of [session, ofServer]) {
        const found = (await server.json('GET', `/v1/session/info/${id}`)) as readonly unknown[]
        seen.add(`${found.length} session`)
      }
      const key = (await server.json('GET', '/v1/kv/lock')) as readonly {
        readonly Session?: string
      }[]
      seen.add(key[0]?.Session === session ? 'held' : 'lost')
      seen.add(await nodes())
      return performance.now() - startMs > forgedMs
    })
    await forger.stop()
    t.same([...seen], ['1 session', 'held', 'c1 s1 s2 s3'])
  },
)
