/** TTLs, intervals and thresholds, with time of the test's own. */
import t from 'tap'
import type { CheckDefinition, Probe } from '../../../src/domains/local-services/definition.ts'
import { RunningCheck, type CheckState } from '../../../src/domains/local-services/running-check.ts'
import type { CheckStatus } from '../../../src/domains/catalog/model.ts'
import type { ProbeResult } from '../../../src/domains/local-services/probes/probe-result.ts'
import { manualClock } from '../../support/manual-clock.ts'

const ttl: Probe = { type: 'ttl', ttlMs: 10_000 }
const tcp: Probe = { type: 'tcp', host: 'h', port: 1, intervalMs: 5_000, timeoutMs: 1_000 }

function run(probe: Probe, spec: Partial<CheckDefinition> = {}, status: CheckStatus = 'critical') {
  const clock = manualClock()
  const states: CheckState[] = []
  const looks: ((found: ProbeResult | null) => void)[] = []
  const looked: CheckStatus[] = []
  const signals: AbortSignal[] = []
  let overdue = 0
  const check = new RunningCheck({
    definition: {
      id: 'c',
      name: 'c',
      notes: '',
      serviceId: 's',
      probe,
      successBeforePassing: 0,
      failuresBeforeWarning: 0,
      failuresBeforeCritical: 0,
      deregisterAfterMs: null,
      ...spec,
    },
    state: { status, output: '' },
    firstLookMs: 0,
    clock,
    admit: (begin) => begin(),
    look: (_probe, signal) => {
      signals.push(signal)
      return new Promise((resolve) => looks.push(resolve))
    },
    onLooked: (status) => looked.push(status),
    onState: (state) => states.push(state),
    onOverdue: () => (overdue += 1),
  })
  /** The next look finds this. */
  const find = async (found: CheckStatus) => {
    clock.advance(5_000)
    looks.shift()?.({ status: found, output: found })
    await new Promise((resolve) => setImmediate(resolve))
    return check.state.status
  }
  return { check, clock, states, looks, looked, signals, find, overdue: () => overdue }
}

void t.test('a TTL check turns critical after its TTL, and no earlier', async (t) => {
  const { check, clock, states } = run(ttl)
  check.refresh('passing', 'well')
  clock.advance(9_999)
  check.refresh('passing', 'well')
  clock.advance(10_000)
  t.equal(check.state.status, 'passing')
  clock.advance(2)
  t.match(check.state, { status: 'critical', output: 'TTL expired, last output: well' })
  t.equal(states.length, 2, 'a refresh that says the same is no change')
  check.refresh('warning', '')
  t.equal(check.state.status, 'warning')
  await check.stop()
  check.refresh('passing', '')
  clock.advance(100_000)
  t.equal(check.state.status, 'warning', 'stopped')
})

void t.test('without thresholds one look decides; looks never overlap', async (t) => {
  const { check, clock, looks, find } = run(tcp)
  t.equal(await find('passing'), 'passing')
  t.equal(await find('warning'), 'warning')
  t.equal(await find('critical'), 'critical')
  clock.advance(5_000)
  clock.advance(60_000)
  t.equal(looks.length, 1)
  const stopped = check.stop()
  looks.shift()?.({ status: 'passing', output: '' })
  await stopped
  t.equal(check.state.status, 'critical', 'what a look finds after the stop does not count')
})

void t.test('thresholds count in a row', async (t) => {
  const { find } = run(tcp, {
    successBeforePassing: 2,
    failuresBeforeWarning: 2,
    failuresBeforeCritical: 3,
  })
  const rows: readonly (readonly [CheckStatus, CheckStatus])[] = [
    ['passing', 'critical'],
    ['passing', 'passing'],
    ['critical', 'passing'],
    ['passing', 'passing'],
    ['critical', 'passing'],
    ['critical', 'warning'],
    ['critical', 'critical'],
    ['passing', 'critical'],
    ['passing', 'passing'],
  ]
  for (const [position, [found, wanted]] of rows.entries()) {
    t.equal(await find(found), wanted, `look ${position + 1}: ${found}`)
  }
})

void t.test(
  'each look is told of after the thresholds, unless nothing was to be seen',
  async (t) => {
    const { check, clock, looks, looked, find } = run(tcp, { failuresBeforeCritical: 2 })
    await find('passing')
    await find('critical')
    await find('critical')
    t.strictSame(looked, ['passing', 'warning', 'critical'])
    clock.advance(5_000)
    looks.shift()?.(null)
    await new Promise((resolve) => setImmediate(resolve))
    t.match(check.state, { status: 'critical', output: 'critical' }, 'as it was')
    await find('warning')
    t.strictSame(looked.slice(3), ['warning'], 'and it goes on')
    await check.stop()
  },
)

void t.test('a look that takes too long is told to end', async (t) => {
  const { check, clock, signals, looks } = run(tcp)
  clock.advance(0)
  t.equal(signals[0]?.aborted, false)
  clock.advance(1_000)
  t.equal(signals[0]?.aborted, true)
  looks.shift()?.({ status: 'critical', output: '' })
  await check.stop()
})

void t.test('a check that stays critical for its time is overdue', async (t) => {
  const { check, clock, overdue } = run(ttl, { deregisterAfterMs: 60_000 })
  clock.advance(30_000)
  check.refresh('passing', '')
  clock.advance(9_000)
  t.equal(overdue(), 0)
  clock.advance(2_000)
  clock.advance(59_999)
  t.equal(overdue(), 0)
  clock.advance(1)
  t.equal(overdue(), 1)
  await check.stop()
})
