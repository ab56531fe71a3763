/** Families, and the two forms in which they leave. */
import t from 'tap'
import { metricsDocument } from '../../src/metrics/document.ts'
import { Exposition } from '../../src/metrics/exposition.ts'
import { intervalMs, Metrics } from '../../src/metrics/metrics.ts'
import { Distribution } from '../../src/metrics/series.ts'
import { manualClock } from '../support/manual-clock.ts'

t.test('a distribution counts a value at the first bound that is not below it', async (t) => {
  const spread = new Distribution({}, [1, 2, 4])
  for (const value of [0, 1, 1.5, 2, 3, 4, 5, 100]) spread.observe(value)
  t.same([...spread.buckets], [2, 2, 2, 2])
  t.equal(spread.count, 8)
  t.equal(spread.sum, 116.5)
  t.throws(() => new Distribution({}, [2, 1]), /bounds ascend/)
})

t.test('an interval knows what came in it, and the totals go on', async (t) => {
  const spread = new Distribution({}, [1])
  spread.observe(7)
  t.same(spread.roll(), { count: 1, sum: 7, squares: 49, min: 7, max: 7 })
  spread.observe(1)
  spread.observe(3)
  t.same(spread.roll(), { count: 2, sum: 4, squares: 10, min: 1, max: 3 })
  t.same(spread.roll(), { count: 0, sum: 0, squares: 0, min: 0, max: 0 })
  t.equal(spread.count, 3)
})

t.test('Prometheus gets every family, and newer ones later', async (t) => {
  const metrics = new Metrics(manualClock())
  const exposition = new Exposition(metrics)
  metrics.gauge('muster_a_bytes', 'Bytes', () => 5)
  const { type, text } = await exposition.text()
  t.match(type, 'text/plain; version=0.0.4')
  t.equal(text, '# HELP muster_a_bytes Bytes\n# TYPE muster_a_bytes gauge\nmuster_a_bytes 5\n')

  let total = 1
  metrics.counters({
    name: 'muster_b_total',
    help: 'Steps',
    labelNames: ['kind'],
    read: () => [{ labels: { kind: 'x"\n' }, value: (total += 1) }],
  })
  const spread = metrics.distributions({
    name: 'muster_c_seconds',
    help: 'Times',
    labelNames: ['route'],
    bounds: [0.1, 1],
  })({ route: '/v1/*' })
  for (const value of [0.05, 0.5, 5]) spread.observe(value)
  for (const value of [2, 3]) {
    const lines = (await exposition.text()).text.split('\n')
    t.ok(
      lines.includes(`muster_b_total{kind="x\\"\\n"} ${value}`),
      'a counter is set, not added up',
    )
    t.same(
      lines.filter((line) => line.startsWith('muster_c')),
      [
        'muster_c_seconds_bucket{le="0.1",route="/v1/*"} 1',
        'muster_c_seconds_bucket{le="1",route="/v1/*"} 2',
        'muster_c_seconds_bucket{le="+Inf",route="/v1/*"} 3',
        'muster_c_seconds_sum{route="/v1/*"} 5.55',
        'muster_c_seconds_count{route="/v1/*"} 3',
      ],
    )
  }
})

t.test('what cannot be told now leaves the rest', async (t) => {
  const metrics = new Metrics(manualClock())
  metrics.gauge('muster_closed', 'Of a store that is closed', () => {
    throw new Error('closed')
  })
  metrics.gauge('muster_open', 'Of one that is open', () => 1)
  t.match((await new Exposition(metrics).text()).text, /^muster_open 1$/m)
  t.same(
    metricsDocument(metrics).Gauges.map(({ Name }) => Name),
    ['muster.open'],
  )
})

t.test('JSON tells of the last whole interval, and of the first one while it runs', async (t) => {
  const clock = manualClock()
  const metrics = new Metrics(clock)
  const count = metrics.tallies({ name: 'muster_a_steps_total', help: 'Steps', labelNames: [] })({})
  const times = metrics.distributions({
    name: 'process_b_seconds',
    help: 'Times',
    labelNames: ['k'],
    bounds: [1],
  })({ k: 'v' })
  metrics.start()
  count.value += 4
  times.observe(1)
  times.observe(3)
  const expected = {
    Timestamp: '2026-01-31 12:00:00 +0000 UTC',
    Gauges: [],
    Points: [],
    Counters: [
      {
        Name: 'muster.a.steps',
        Count: 4,
        Rate: 0.4,
        Sum: 4,
        Min: 1,
        Max: 1,
        Mean: 1,
        Stddev: 0,
        Labels: {},
      },
    ],
    Samples: [
      {
        Name: 'process.b_seconds',
        Count: 2,
        Rate: 0.4,
        Sum: 4,
        Min: 1,
        Max: 3,
        Mean: 2,
        Stddev: Math.SQRT2,
        Labels: { k: 'v' },
      },
    ],
  }
  t.same(metricsDocument(metrics), expected)
  clock.advance(intervalMs)
  count.value += 1
  t.same(metricsDocument(metrics), expected, 'the running interval is not told yet')
  clock.advance(intervalMs)
  const second = metricsDocument(metrics)
  t.equal(second.Timestamp, '2026-01-31 12:00:10 +0000 UTC')
  t.match(second.Counters, [{ Name: 'muster.a.steps', Count: 1, Sum: 1, Rate: 0.1 }])
  t.same(second.Samples, [], 'nothing happened')
  metrics.stop()
})

t.test('a counter of seconds has a whole count in JSON', async (t) => {
  const metrics = new Metrics(manualClock())
  metrics.counter('process_cpu_seconds_total', 'Time', () => 0.25)
  metrics.start()
  t.match(metricsDocument(metrics).Counters, [
    { Name: 'process.cpu_seconds', Count: 1, Sum: 0.25, Min: 0.25, Max: 0.25, Mean: 0.25 },
  ])
  metrics.stop()
})

t.test('a name is used once, and labels are bounded', async (t) => {
  const metrics = new Metrics(manualClock())
  metrics.gauge('muster_a', 'One', () => 1)
  t.throws(() => metrics.gauge('muster_a', 'Two', () => 2), /two families are called muster_a/)
  t.throws(() => metrics.gauge('muster a', 'Three', () => 3), /is a name/)
  const make = metrics.tallies({ name: 'muster_b', help: 'Many', labelNames: ['at'] })
  t.throws(() => {
    for (let at = 0; at <= 2_000; at += 1) make({ at: String(at) })
  }, /too many values/)
})
