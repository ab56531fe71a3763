/** Many readers wait for changes: each wakes when its own rows change, and not before. */
import t from 'tap'
import { sharedCluster, steadyLeadership } from '../support/cluster.ts'
import type { HttpClient, Reply } from '../support/http-client.ts'

const started = sharedCluster(t, { raft: steadyLeadership })

const readersPerServer = 334
const quietReaders = 30

type Park = { readonly woken: () => boolean; readonly reply: Promise<Reply>; wokenMs: number }

void t.test('a thousand parked reads wake on their change, on every server', async (t) => {
  const cluster = await started()
  const leader = await cluster.waitForLeader()
  const variables = cluster.variables(leader)
  await variables.put('watched/key', 'one')
  const quiet = await variables.put('quiet/key', 'one')
  if (quiet.type !== 'ok') throw new Error('the first writes must succeed')
  const indexes = await Promise.all(
    cluster.all.map(async (at) => indexOf(await get(cluster.http(at), '/v1/var/watched/key'))),
  )
  const watched = cluster.all.flatMap((at) =>
    Array.from({ length: readersPerServer }, () =>
      park(cluster.http(at), `/v1/var/watched/key?index=${indexes[at]}&wait=60s`),
    ),
  )
  const other = Array.from({ length: quietReaders }, () =>
    park(cluster.http(leader), `/v1/var/quiet/key?index=${quiet.index}&wait=60s`),
  )
  // A read that answers after these on the same servers shows that the parked ones were taken in.
  for (const at of cluster.all) await get(cluster.http(at), '/v1/var/watched/key?consistent')
  t.equal(watched.filter(({ woken }) => woken()).length, 0, 'nobody wakes without a change')

  const changedMs = performance.now()
  const changed = await variables.put('watched/key', 'two')
  const replies = await Promise.all(watched.map(({ reply }) => reply))
  const delays = watched.map(({ wokenMs }) => wokenMs - changedMs).sort((a, b) => a - b)
  t.comment(
    `woken after ${delays[delays.length >> 1]?.toFixed(0)} ms (p50), ` +
      `${delays[Math.floor(delays.length * 0.99)]?.toFixed(0)} ms (p99) from sending the write`,
  )
  t.ok(
    replies.every((reply) => reply.status === 200 && valueOf(reply) === 'two'),
    'all see the change',
  )
  if (changed.type !== 'ok') throw new Error('the write must succeed')
  const expected = changed.index ?? 0
  t.ok(
    replies.every((reply) => indexOf(reply) >= expected),
    'the index went forward',
  )
  t.equal(other.filter(({ woken }) => woken()).length, 0, 'readers of other rows sleep on')

  await variables.put('quiet/key', 'two')
  const late = await Promise.all(other.map(({ reply }) => reply))
  t.ok(
    late.every((reply) => valueOf(reply) === 'two'),
    'and wake on theirs',
  )
})

void t.test('a wait that sees no change ends after its time with the same index', async (t) => {
  const cluster = await started()
  const at = await cluster.follower()
  await cluster.variables(at).put('still/key', 'one')
  const first = await get(cluster.http(at), '/v1/var/still/key')
  const again = await get(cluster.http(at), `/v1/var/still/key?index=${indexOf(first)}&wait=300ms`)
  t.equal(again.status, 200)
  t.equal(indexOf(again), indexOf(first))
})

void t.test('a parked read survives a change of leaders', async (t) => {
  const cluster = await started()
  const leader = await cluster.waitForLeader()
  const at = (leader + 1) % cluster.size
  await cluster.variables(at).put('survives/key', 'one')
  const first = await get(cluster.http(at), '/v1/var/survives/key')
  const parked = park(
    cluster.http(at),
    `/v1/var/survives/key?index=${indexOf(first)}&wait=60s&stale`,
  )
  await cluster.kill(leader)
  await cluster.waitForLeader({ except: leader })
  t.notOk(parked.woken(), 'the election alone wakes nobody')
  await cluster.variables(at).put('survives/key', 'two')
  t.equal(valueOf(await parked.reply), 'two')
})

function park(http: HttpClient, path: string): Park {
  let woken = false
  const parked: Park = {
    woken: () => woken,
    wokenMs: 0,
    reply: get(http, path).then((reply) => {
      woken = true
      parked.wokenMs = performance.now()
      return reply
    }),
  }
  return parked
}

async function get(http: HttpClient, path: string): Promise<Reply> {
  return http.request('GET', path, { timeoutMs: 90_000 })
}

function indexOf(reply: Reply): number {
  return Number(reply.headers['x-service-index'])
}

function valueOf(reply: Reply): unknown {
  const variable = JSON.parse(reply.body.toString()) as { Items?: { v?: unknown } }
  return variable.Items?.v
}
