/** Sessions and locks over restores of a running cluster: they end in their time, and no former holder writes. */
import t from 'tap'
import { commandVersion } from '../../../src/fsm/codec.ts'
import { serverOfThree } from '../../support/server-of-three.ts'
import type { Servers } from '../../support/servers.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { Locks } from '../../support/locks.ts'
import { lead } from '../../support/members.ts'

const ttlMs = 10_000
/** What a busy machine may take to look. */
const slackMs = 5_000
const fields = { TTL: '10s', NodeChecks: [], LockDelay: '1ms' }

async function save(cluster: Servers, at: number): Promise<Buffer> {
  return (await cluster.http(at).request('GET', '/v1/operator/snapshot')).body
}

async function restore(cluster: Servers, at: number, body: Buffer): Promise<void> {
  const reply = await cluster.http(at).request('PUT', '/v1/operator/snapshot', { body })
  if (reply.status !== 200) throw new Error(reply.body.toString())
}

async function upToDate(cluster: Servers): Promise<void> {
  await eventuallyTrue('all servers run at this command version', async () => {
    for (const at of cluster.all) {
      const self = (await cluster.http(at).json('GET', '/v1/agent/self')) as {
        readonly stats: { readonly muster: { readonly command_version: string } }
      }
      if (Number(self.stats.muster.command_version) < commandVersion) return false
    }
    return true
  })
}

void t.test('a restored session ends, and a holder of before is fenced off', async (t) => {
  const cluster = await serverOfThree(t)
  const over = new AbortController()
  t.teardown(() => over.abort())
  const locks = cluster.all.map((at) => new Locks(cluster, at, over.signal))
  const [one, two] = locks
  if (one === undefined || two === undefined) throw new Error('three servers')
  await upToDate(cluster)
  const older = await save(cluster, 0)
  const holderA = await one.create(fields)
  const numberOfA = (await one.acquire('lock', holderA)) ?? 0
  t.equal(numberOfA, 1)
  t.equal(await one.write('state', 'a', 'lock', numberOfA), 'written')
  const withA = await save(cluster, 0)

  await restore(cluster, 1, older)
  const numberOfB = (await two.acquire('lock', await two.create(fields))) ?? 0
  t.ok(numberOfB > numberOfA, `${numberOfB}`)
  for (const at of locks) t.equal(await at.write('state', 'a', 'lock', numberOfA), 'refused')
  t.equal(await one.write('state', 'b', 'lock', numberOfB), 'written')

  // A leader that never had A's session to end.
  const leader = ((await cluster.waitForLeader()) + 1) % 3
  await lead(cluster, leader)
  const term = await termOf(cluster, leader)
  const sentMs = performance.now()
  await restore(cluster, 2, withA)
  const restoredMs = performance.now()
  t.ok(await one.isAlive(holderA))
  t.equal(
    await one.write('state', 'a', 'lock', numberOfA),
    'refused',
    'its number may be another’s',
  )
  const endedMs = await eventually('it ends', async () => {
    const lookedMs = performance.now()
    return (await one.isAlive(holderA)) ? undefined : lookedMs
  })
  t.ok(endedMs - sentMs >= ttlMs, `not before its time: ${endedMs - sentMs} ms`)
  t.ok(endedMs - restoredMs <= ttlMs + 1_000 + slackMs, `${endedMs - restoredMs} ms`)
  const numberOfC = (await two.acquire('lock', await two.create(fields))) ?? 0
  t.ok(numberOfC > numberOfB + 1, 'its lock is free, by a number that is new again')
  t.equal(await termOf(cluster, leader), term, 'the leader is the same')
})

async function termOf(cluster: Servers, at: number): Promise<string> {
  const self = (await cluster.http(at).json('GET', '/v1/agent/self')) as {
    readonly stats: { readonly raft: { readonly term: string } }
  }
  return self.stats.raft.term
}
