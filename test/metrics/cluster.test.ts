/** What the traffic between servers tells: gossip, calls, streams; and the pauses of the collector. */
import t from 'tap'
import { createGossip } from '../../src/gossip/node.ts'
import { lanProfile } from '../../src/gossip/gossip.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { Exposition } from '../../src/metrics/exposition.ts'
import { garbageMetrics } from '../../src/metrics/garbage.ts'
import { gossipMetrics } from '../../src/metrics/gossip.ts'
import { Metrics } from '../../src/metrics/metrics.ts'
import { rpcMetrics } from '../../src/metrics/rpc.ts'
import { wireMetrics } from '../../src/metrics/wire.ts'
import { TrafficByPath } from '../../src/wire/traffic.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { collectGarbage } from '../support/heap.ts'
import { manualClock } from '../support/manual-clock.ts'

async function linesOf(metrics: Metrics, start: string): Promise<readonly string[]> {
  const { text } = await new Exposition(metrics).text()
  return text.split('\n').filter((line) => line.startsWith(start) && !line.includes('_bucket{'))
}

t.test('a pool of one tells of itself, and of nothing once it stopped', async (t) => {
  const gossip = createGossip({
    name: 'a',
    tags: new Map(),
    bindAddress: '127.0.0.1',
    bindPort: 0,
    advertise: null,
    joinPort: 1,
    keys: [],
    label: '',
    profile: lanProfile,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    onFatal: (error) => t.fail('gossip stopped', { error }),
  })
  t.teardown(() => gossip.stop())
  const metrics = new Metrics(manualClock())
  gossipMetrics(metrics, () => gossip.counters())
  t.same(await linesOf(metrics, 'muster_gossip'), [], 'nothing before it starts')
  await gossip.start()
  t.same(await linesOf(metrics, 'muster_gossip_members'), [
    'muster_gossip_members{status="alive"} 1',
    'muster_gossip_members{status="leaving"} 0',
    'muster_gossip_members{status="left"} 0',
    'muster_gossip_members{status="failed"} 0',
  ])
  t.same(await linesOf(metrics, 'muster_gossip_health_score'), ['muster_gossip_health_score 0'])
  t.match(await linesOf(metrics, 'muster_gossip_refused_total'), [
    'muster_gossip_refused_total{what="packet",reason="wrong_key"} 0',
  ])
  t.same(
    (await linesOf(metrics, 'muster_gossip_messages_sent_total{kind="indirect_ping"}')).length,
    1,
  )
  await gossip.stop()
  t.same(await linesOf(metrics, 'muster_gossip'), [])
})

t.test(
  'calls are told by method, outcome and origin; those that wait on purpose are not timed',
  async (t) => {
    const metrics = new Metrics(manualClock())
    const ended = rpcMetrics(metrics)
    const call = {
      method: 'a.get',
      outcome: 'ok',
      forwarded: false,
      blocking: false,
      durationMs: 250,
    }
    ended(call)
    ended({ ...call, outcome: 'timeout' })
    ended({ ...call, forwarded: true })
    ended({ ...call, blocking: true, durationMs: 60_000 })
    const front = 'muster_rpc_requests_total{method="a.get"'
    t.same(await linesOf(metrics, 'muster_rpc_requests_total'), [
      `${front},from="client",outcome="ok"} 2`,
      `${front},from="client",outcome="timeout"} 1`,
      `${front},from="server",outcome="ok"} 1`,
    ])
    t.same(await linesOf(metrics, 'muster_rpc_request_duration_seconds_sum'), [
      'muster_rpc_request_duration_seconds_sum{method="a.get",from="client"} 0.5',
      'muster_rpc_request_duration_seconds_sum{method="a.get",from="server"} 0.25',
    ])
  },
)

t.test('streams between servers are told by path', async (t) => {
  const metrics = new Metrics(manualClock())
  const traffic = new TrafficByPath()
  wireMetrics(metrics, {
    refusals: () => [],
    traffic: () => traffic.all(),
    certificateUntilMs: () => null,
  })
  Object.assign(traffic.of('/raft'), { streams: 2, framesSent: 3, bytesSent: 400 })
  traffic.of('/raft').bytesReceived += 5
  t.same(await linesOf(metrics, 'muster_rpc_'), [
    'muster_rpc_streams{path="/raft"} 2',
    'muster_rpc_frames_sent_total{path="/raft"} 3',
    'muster_rpc_frames_received_total{path="/raft"} 0',
    'muster_rpc_sent_bytes_total{path="/raft"} 400',
    'muster_rpc_received_bytes_total{path="/raft"} 5',
  ])
})

t.test('a pause of the collector is told by kind', async (t) => {
  const metrics = new Metrics(manualClock())
  const stop = garbageMetrics(metrics)
  t.teardown(stop)
  const major = async (): Promise<number> => {
    const [line = ''] = await linesOf(metrics, 'muster_gc_duration_seconds_count{kind="major"}')
    return Number(line.split(' ')[1])
  }
  collectGarbage()
  await eventuallyTrue('a pause', async () => (await major()) >= 1)
  stop()
})
