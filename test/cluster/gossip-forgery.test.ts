/** An attacker who holds the gossip key, as every client agent does: what it says moves no server out of the cluster. */
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { forgedAlive, forgedDeath, GossipForger } from '../support/gossip-forger.ts'
import { membersSeenBy, voters } from '../support/members.ts'
import { SteadyWriter } from '../support/writer.ts'

const key = Buffer.alloc(32, 7).toString('base64')
const forgedMs = 6_000

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
