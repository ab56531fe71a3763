/** Sessions across elections: none ends before its time, none much after, and those that are renewed stay. */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { Locks } from '../support/locks.ts'

const ttlMs = 10_000
const mostMs = ttlMs + 1_000
/** What a busy machine may take to elect a leader, and this test to look. */
const slackMs = 2_500
const renewEveryMs = 1_500

void t.test('sessions keep their time when the leader is killed', async (t) => {
  const cluster = await startCluster(t)
  const over = new AbortController()
  const locks = new Locks(cluster, 0, over.signal)
  const fields = { TTL: '10s', NodeChecks: [], LockDelay: '1ms' }
  await eventually('a session can be made', async () => {
    const made = await cluster.http(0).request('PUT', '/v1/session/create', {
      body: JSON.stringify(fields),
    })
    return made.status === 200 ? true : undefined
  })

  const renewed = await locks.create(fields)
  const quiet = await Promise.all(
    [0, 1, 2].map(async (at) => {
      const own = new Locks(cluster, at, over.signal)
      const sentMs = performance.now()
      const id = await own.create(fields)
      const key = `held/${id}`
      await own.acquire(key, id)
      return { id, key, sentMs, knownMs: performance.now() }
    }),
  )
  const lasts: { id: string; lifeMs: number; sinceSentMs: number }[] = []
  const watching = quiet.map(async ({ id, key, sentMs, knownMs }, at) => {
    const own = new Locks(cluster, at, over.signal)
    for (;;) {
      const alive = await own.isAlive(id)
      const nowMs = performance.now()
      if (!alive) {
        lasts.push({ id, lifeMs: nowMs - knownMs, sinceSentMs: nowMs - sentMs })
        t.ok((await own.acquire(key, renewed)) !== null, 'its lock is free')
        return
      }
      await delay(50)
    }
  })
  const renewing = (async () => {
    while (!over.signal.aborted) {
      const reply = await locks.renew(renewed)
      if (reply === null) {
        t.fail('a session that is renewed ended')
        return
      }
      await delay(renewEveryMs)
    }
  })()

  await delay(ttlMs / 4)
  const leader = await cluster.waitForLeader()
  await cluster.kill(leader)
  await cluster.waitForLeader({ except: leader })
  await cluster.restart(leader)
  await Promise.all(watching)
  for (const { lifeMs, sinceSentMs } of lasts) {
    t.ok(sinceSentMs >= ttlMs, `no earlier than its time: ${sinceSentMs.toFixed(0)} ms`)
    t.ok(lifeMs <= mostMs + slackMs, `and soon after: ${lifeMs.toFixed(0)} ms`)
  }
  t.ok(await locks.isAlive(renewed))
  over.abort()
  await renewing.catch(() => {})
})

void t.test('sessions have their whole time when the servers come up far apart', async (t) => {
  const cluster = await startCluster(t)
  const over = new AbortController()
  t.teardown(() => over.abort())
  const first = new Locks(cluster, 0, over.signal)
  const id = await eventually('a session can be made', async () => {
    return first.create({ TTL: '10s', NodeChecks: [], LockDelay: '1ms' }).catch(() => undefined)
  })
  await Promise.all(cluster.all.map((at) => cluster.kill(at)))
  await cluster.restart(0)
  // No majority, for longer than its time: nobody can renew it.
  await delay(ttlMs + slackMs)
  const startMs = performance.now()
  await cluster.restart(1)
  await cluster.waitForLeader()
  while (await first.isAlive(id)) await delay(50)
  const lifeMs = performance.now() - startMs
  t.ok(lifeMs >= ttlMs, `it lived for ${lifeMs.toFixed(0)} ms with a majority`)
  t.ok(lifeMs <= mostMs + 2 * slackMs)
})
