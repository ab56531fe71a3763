import t from 'tap'
import { DeadlineWheel, type DeadlineWheelOptions } from '../../src/lib/deadline-wheel.ts'
import { manualClock } from '../support/manual-clock.ts'

const sliceMs = 100

/** A wheel of strings, and what it delivered: each with the time, and the number of the batch. */
function wheelOf(options: Partial<DeadlineWheelOptions<string>> = {}) {
  const clock = manualClock()
  const fired: { readonly key: string; readonly atMs: number; readonly batch: number }[] = []
  let batches = 0
  const wheel = new DeadlineWheel<string>({
    clock,
    sliceMs,
    keyOf: (key) => key,
    batchMax: 1_000,
    onDue(items) {
      batches += 1
      for (const key of items) fired.push({ key, atMs: clock.monotonicMs(), batch: batches })
    },
    ...options,
  })
  const pass = (ms: number, stepMs = 10) => {
    for (let passed = 0; passed < ms; passed += stepMs) clock.advance(stepMs)
  }
  const keys = () => fired.splice(0).map(({ key }) => key)
  return { clock, wheel, fired, pass, keys, batchCount: () => batches }
}

t.test('a deadline fires after its time, and at most one slice after it', async (t) => {
  const { wheel, fired, pass } = wheelOf()
  wheel.start()
  const dueMs = [1, 99, 100, 101, 250, 1_000, 86_400]
  for (const due of dueMs) wheel.arm(String(due), due)
  t.equal(wheel.size, dueMs.length)
  pass(90_000)
  for (const { key, atMs } of fired) {
    t.ok(atMs > Number(key) && atMs <= Number(key) + sliceMs, `${key} at ${atMs}`)
  }
  t.equal(fired.length, dueMs.length)
  t.equal(wheel.size, 0)
})

t.test('a deadline can be moved, later and earlier, and cancelled', async (t) => {
  const { wheel, fired, pass, keys } = wheelOf()
  wheel.start()
  for (const key of ['later', 'earlier', 'cancelled', 'stays']) wheel.arm(key, 500)
  wheel.arm('later', 900)
  wheel.arm('earlier', 200)
  t.ok(wheel.cancel('cancelled'))
  t.notOk(wheel.cancel('cancelled'))
  t.notOk(wheel.cancel('unknown'))
  pass(1_100)
  t.same(
    fired.map(({ key, atMs }) => [key, atMs]),
    [
      ['earlier', 300],
      ['stays', 600],
      ['later', 1_000],
    ],
  )
  t.notOk(wheel.cancel('stays'), 'what was delivered is not armed')
  keys()
})

t.test('what is over already fires when the next slice begins', async (t) => {
  const { wheel, fired, pass } = wheelOf()
  wheel.start()
  pass(1_050)
  wheel.arm('old', 3)
  pass(100)
  t.match(fired, [{ key: 'old', atMs: 1_100 }])
})

t.test('nothing fires before the start; then all that is due does, in one batch', async (t) => {
  const { wheel, fired, pass, clock, batchCount } = wheelOf()
  for (let n = 0; n < 20; n += 1) wheel.arm(`s${n}`, n * 100)
  pass(5_000)
  t.same(fired, [])
  t.equal(clock.timerCount, 0)
  wheel.start()
  pass(10)
  t.equal(fired.length, 20)
  t.equal(batchCount(), 1)
})

t.test('a handler may arm again what is due, also at once', async (t) => {
  const { clock, wheel, pass } = wheelOf({
    onDue(items) {
      rounds.push(clock.monotonicMs())
      for (const key of items) wheel.arm(key, 0)
    },
  })
  const rounds: number[] = []
  wheel.start()
  for (const key of ['a', 'b', 'c']) wheel.arm(key, 50)
  pass(500)
  t.same(rounds, [100, 200, 300, 400, 500], 'once in each slice')
})

t.test('many at once are delivered in turns', async (t) => {
  const { wheel, fired, clock } = wheelOf({ batchMax: 10 })
  wheel.start()
  for (let n = 0; n < 25; n += 1) wheel.arm(`k${n}`, 50)
  wheel.arm('after', 101)
  clock.advance(100)
  t.equal(fired.length, 10)
  clock.advance(0)
  t.equal(fired.length, 20)
  clock.advance(0)
  t.equal(fired.length, 25, 'without waiting for another slice')
  clock.advance(100)
  t.equal(fired.at(-1)?.key, 'after')
})

t.test('a stop cancels all for good', async (t) => {
  const { wheel, fired, clock, pass } = wheelOf()
  wheel.start()
  wheel.arm('a', 100)
  wheel.stop()
  wheel.arm('b', 100)
  wheel.start()
  t.equal(clock.timerCount, 0)
  pass(1_000)
  t.same(fired, [])
  t.equal(wheel.size, 0)
})

t.test('there is one timer, and none while nothing is armed', async (t) => {
  const { wheel, clock, pass } = wheelOf()
  wheel.start()
  t.equal(clock.timerCount, 0)
  for (let n = 0; n < 100; n += 1) wheel.arm(`k${n}`, n * 30)
  t.equal(clock.timerCount, 1)
  pass(4_000)
  t.equal(clock.timerCount, 0)
})

t.test('it does what a list that is searched would do', async (t) => {
  const { wheel, fired, clock, pass } = wheelOf()
  wheel.start()
  const plain = new Map<string, number>()
  // A generator of its own, so that each run is the same.
  let seed = 1
  const below = (limit: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % limit
  }
  for (let turn = 0; turn < 5_000; turn += 1) {
    const key = `k${below(300)}`
    if (below(4) === 0) {
      t.equal(wheel.cancel(key), plain.delete(key))
    } else {
      const dueMs = clock.monotonicMs() + below(5_000)
      wheel.arm(key, dueMs)
      plain.set(key, dueMs)
    }
    pass(below(5) * 10)
    for (const { key: due, atMs } of fired.splice(0)) {
      const dueMs = plain.get(due) ?? NaN
      t.ok(atMs > dueMs && atMs <= dueMs + sliceMs)
      plain.delete(due)
    }
    if (wheel.size !== plain.size) t.fail(`${wheel.size} armed, ${plain.size} expected`)
  }
  for (const dueMs of plain.values()) if (dueMs < clock.monotonicMs() - sliceMs) t.fail('missed')
})

/** The most steps that one call or one turn took, with so many deadlines within `spreadMs`. Half are cancelled. */
function costs(count: number, spreadMs: number) {
  const { wheel, fired, clock } = wheelOf({ batchMax: 4_096 })
  const most = { arm: 0, move: 0, cancel: 0, turn: 0 }
  const measured = (what: keyof typeof most, run: () => void) => {
    const before = wheel.steps
    run()
    most[what] = Math.max(most[what], wheel.steps - before)
  }
  const dueMs = (n: number) => 1_000 + ((n * 7_919) % spreadMs)
  wheel.start()
  for (let n = 0; n < count; n += 1) measured('arm', () => wheel.arm(`k${n}`, dueMs(n)))
  for (let n = 0; n < count; n += 1) measured('move', () => wheel.arm(`k${n}`, 500 + dueMs(n)))
  for (let n = 0; n < count; n += 2) measured('cancel', () => void wheel.cancel(`k${n}`))
  for (let before = -1; wheel.size > 0;) {
    // Turns that follow at once, until there are no more.
    const byMs = fired.length === before ? sliceMs : 0
    before = fired.length
    measured('turn', () => clock.advance(byMs))
  }
  return { most, fired: fired.length, steps: wheel.steps }
}

t.test('a million deadlines cost a million times what one costs', async (t) => {
  for (const [count, spreadMs] of [
    [100_000, 100],
    [1_000_000, 10_000],
    [100_000, 600_000],
  ] as const) {
    const { most, fired, steps } = costs(count, spreadMs)
    const { turn, ...calls } = most
    t.same(calls, { arm: 1, move: 2, cancel: 1 })
    t.ok(turn <= 4_096, `${turn} steps in one turn`)
    t.equal(fired, count / 2, 'each that was not cancelled, once')
    const slices = (spreadMs + 2_000) / sliceMs
    t.ok(steps <= 4 * count + slices, `${steps} steps: arm, move in two, end; and the slices`)
  }
})

t.test('a turn after a long standstill is bounded too', async (t) => {
  const { wheel, fired, clock } = wheelOf({ batchMax: 1_000 })
  wheel.start()
  wheel.arm('far', 86_400_000)
  let most = 0
  let turns = 0
  for (let byMs = 100_000_000; wheel.size > 0; byMs = 0) {
    const before = wheel.steps
    clock.advance(byMs)
    most = Math.max(most, wheel.steps - before)
    turns += 1
  }
  t.equal(most, 1_000)
  t.equal(turns, 865)
  t.equal(fired.length, 1)
})
