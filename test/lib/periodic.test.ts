import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { MusterError } from '../../src/lib/errors.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { periodic, type Rounds } from '../../src/lib/periodic.ts'
import { manualClock } from '../support/manual-clock.ts'

/** Rounds every 1,000 ms, after a failure 300 ms; `at` has when each began. */
function roundsOf(round: () => Promise<number | void>, more: Partial<Rounds> = {}) {
  const clock = manualClock()
  const at: number[] = []
  const lines: string[] = []
  const log = {
    ...silentLogger,
    warn: (text: string) => void lines.push(`warn ${text}`),
    error: (text: string) => void lines.push(`error ${text}`),
  }
  const running = periodic({
    clock,
    log,
    failure: 'a round failed',
    everyMs: 1_000,
    retryMs: 300,
    round: () => {
      at.push(clock.monotonicMs())
      return round()
    },
    ...more,
  })
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 50) {
      await setImmediate()
      clock.advance(50)
      await setImmediate()
    }
  }
  return { clock, running, at, lines, pass }
}

t.test('a round begins at once, and again after each pause', async (t) => {
  const { running, at, pass, clock } = roundsOf(async () => {})
  await pass(2_500)
  t.same(at, [0, 1_000, 2_000])
  await running.stop()
  t.equal(clock.timerCount, 0)
  await pass(2_000)
  t.equal(at.length, 3)
})

t.test('a round says when the next one is due', async (t) => {
  const pauses = [0, 50, 200]
  const { running, at, pass } = roundsOf(async () => pauses.shift())
  await pass(1_500)
  t.same(at, [0, 50, 100, 300, 1_300], 'a timer of 0 ms fires when the clock moves next')
  await running.stop()
})

t.test('the first round may have to wait', async (t) => {
  const { running, at, pass } = roundsOf(async () => {}, { firstMs: 400 })
  await pass(1_500)
  t.same(at, [400, 1_400])
  await running.stop()
})

t.test('a round that fails is logged and tried again: a defect as an error', async (t) => {
  const failures = [new MusterError('not_leader', 'another leads'), new TypeError('a defect')]
  const { running, at, lines, pass } = roundsOf(async () => {
    const failure = failures.shift()
    if (failure !== undefined) throw failure
  })
  await pass(1_700)
  t.same(at, [0, 300, 600, 1_600])
  t.same(lines, ['warn a round failed', 'error a round failed'])
  await running.stop()
})

t.test('waking ends a pause, but not the gap between two rounds', async (t) => {
  const { running, at, pass } = roundsOf(async () => {}, { gapMs: () => 200 })
  await pass(500)
  running.wake()
  await pass(50)
  t.same(at, [0, 500])
  running.wake()
  running.wake()
  await pass(500)
  t.same(at, [0, 500, 700], 'within the gap it is remembered, once')
  await running.stop()
})

t.test('a gap is part of the pause', async (t) => {
  const pauses = [undefined, undefined, 100]
  const { running, at, pass } = roundsOf(async () => pauses.shift(), { gapMs: () => 200 })
  await pass(3_000)
  t.same(at, [0, 1_000, 2_000, 2_250], 'and the least one; a timer of 0 ms fires at the next step')
  await running.stop()
})

t.test('waking during a round has another one follow, unless the round fails', async (t) => {
  const { running, at, pass } = roundsOf(async () => {
    await Promise.resolve()
    if (at.length <= 2) running.wake()
    if (at.length === 2) throw new Error('still')
  })
  await pass(500)
  t.same(at, [0, 0, 300])
  await running.stop()
})

t.test('a stop waits for the round that is under way, and tells it', async (t) => {
  const held = Promise.withResolvers<void>()
  let signal: AbortSignal | null = null
  const { running } = roundsOf(async () => {}, {
    round: async (given) => {
      signal = given
      await held.promise
    },
  })
  let stopped = false
  const stop = running.stop().then(() => (stopped = true))
  await setImmediate()
  t.notOk(stopped)
  t.match(signal, { aborted: true })
  held.resolve()
  await stop
})
