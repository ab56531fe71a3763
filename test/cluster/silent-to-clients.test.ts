/**
 * A server that stands still with its connections open, and what clients of a client agent notice of it. All that they asked is
 * settled while it still stands: a read is asked of another server, a write that was sent is of unknown outcome, unless another
 * server had sent it to the leader and repeats it. The bounds are many times what it takes.
 */
import t from 'tap'
import { startClientAgent } from '../support/client-agent.ts'
import { sharedCluster, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import type { HttpClient } from '../support/http-client.ts'

/** Twenty times what is aimed at. */
const replacedMsMax = 20_000
/** From then on. Requests give up by themselves after 30 s. */
const settledMsMax = 15_000
const everyMs = 20
const countBefore = 20

type Asked = { status: number | null }

const bodyOf = (method: 'GET' | 'PUT') => (method === 'PUT' ? { body: 'x' } : {})

/** Asks without waiting for answers, until it is stopped. */
function askOn(http: HttpClient, method: 'GET' | 'PUT') {
  const asked: Asked[] = []
  const timer = setInterval(() => {
    const one: Asked = { status: null }
    asked.push(one)
    const key = method === 'GET' ? 'read' : `written/${asked.length}`
    http.request(method, `/v1/kv/silent/${key}`, { timeoutMs: 60_000, ...bodyOf(method) }).then(
      ({ status }) => (one.status = status),
      () => (one.status = 0),
    )
  }, everyMs)
  return {
    answered: () => asked.filter(({ status }) => status !== null).length,
    stop: () => clearInterval(timer),
    settled: () =>
      eventuallyTrue(
        `every ${method} is settled`,
        () => asked.every((one) => one.status !== null),
        {
          timeoutMs: settledMsMax,
        },
      ),
    failures: () => asked.filter(({ status }) => status !== 200).length,
  }
}

const clusterOfThree = sharedCluster(t, { gossip: true })

/** The agent asks the first one, for as long as that answers. */
async function use(http: HttpClient, cluster: Cluster, servers: readonly number[]): Promise<void> {
  for (const count of [1, servers.length]) {
    const search = servers
      .slice(0, count)
      .map((at) => `address=127.0.0.1:${cluster.server(at).spec.ports.http}`)
      .join('&')
    const { status } = await http.request('PUT', `/v1/agent/servers?${search}`)
    if (status !== 200) throw new Error(`PUT /v1/agent/servers: ${status}`)
  }
}

for (const [what, role] of [
  ['the leader stands still, behind the server that the agent asks', 'leader'],
  ['the server that the agent asks stands still', 'asked'],
] as const) {
  t.test(what, async (t) => {
    const cluster = await clusterOfThree()
    const { http } = await startClientAgent(t, cluster, { name: `behind-${role}` })
    const leader = await cluster.waitForLeader()
    const [first = 0, second = 0] = cluster.all.filter((at) => at !== leader)
    const paused = role === 'leader' ? leader : first
    await use(http, cluster, [first, second])
    t.equal((await http.request('PUT', '/v1/kv/silent/read', { body: 'x' })).status, 200)
    const [reads, writes] = [askOn(http, 'GET'), askOn(http, 'PUT')]
    t.teardown(() => {
      cluster.resume(paused)
      reads.stop()
      writes.stop()
    })
    await eventuallyTrue('the agent answers', () =>
      [reads, writes].every((asked) => asked.answered() >= countBefore),
    )
    cluster.pause(paused)
    const pausedMs = performance.now()
    const sinceMs = () => `${(performance.now() - pausedMs).toFixed(0)} ms`
    for (const method of ['PUT', 'GET'] as const) {
      await eventuallyTrue(
        `the agent answers a ${method} again`,
        async () =>
          (await http.request(method, '/v1/kv/silent/again', bodyOf(method))).status === 200,
        { timeoutMs: replacedMsMax },
      )
    }
    t.comment(`answers again after ${sinceMs()}`)
    reads.stop()
    writes.stop()
    await reads.settled()
    await writes.settled()
    t.comment(`all is settled after ${sinceMs()}`)
    t.comment(`not answered: ${reads.failures()} reads, ${writes.failures()} writes`)
  })
}
