import t from 'tap'
import { Watchdog } from '../../../src/cli/lock/watchdog.ts'
import { manualClock } from '../../support/manual-clock.ts'

const group = 4711
const graceMs = 5

/** A watchdog with a group that lives until SIGKILL, and all that it did, in order. */
function watchdogOf() {
  const clock = manualClock()
  const did: string[] = []
  let alive = true
  const watchdog = new Watchdog({
    clock,
    signal: (to, signal) => {
      did.push(`${clock.monotonicMs()}: ${signal} to ${to}${alive ? '' : ', nobody'}`)
      const wasAlive = alive
      if (signal === 'SIGKILL') alive = false
      return wasAlive
    },
    tell: (word) => void did.push(`${clock.monotonicMs()}: says ${word}`),
  })
  const step = (byMs: number) => {
    for (let ms = 0; ms < byMs; ms += 1) clock.advance(1)
  }
  return { clock, watchdog, did, step }
}

void t.test('a group that is not renewed gets SIGTERM, then SIGKILL', async (t) => {
  const { watchdog, did, step } = watchdogOf()
  watchdog.hear({ type: 'guard', group, graceMs, termAtMs: 10, killAtMs: 15 })
  step(30)
  t.same(did, [
    `10: SIGTERM to ${group}`,
    '10: says term',
    `15: SIGKILL to ${group}`,
    '15: says kill',
  ])
})

void t.test('each renewal moves the end', async (t) => {
  const { watchdog, did, step } = watchdogOf()
  watchdog.hear({ type: 'guard', group, graceMs, termAtMs: 10, killAtMs: 15 })
  for (let round = 1; round <= 5; round += 1) {
    step(8)
    watchdog.hear({ type: 'until', termAtMs: round * 8 + 10, killAtMs: round * 8 + 15 })
  }
  t.same(did, [])
  step(10)
  t.same(did.slice(0, 1), [`50: SIGTERM to ${group}`])
})

void t.test('after SIGTERM a renewal saves nobody, and the end may come nearer', async (t) => {
  const { watchdog, did, step } = watchdogOf()
  watchdog.hear({ type: 'guard', group, graceMs, termAtMs: 10, killAtMs: 15 })
  step(11)
  watchdog.hear({ type: 'until', termAtMs: 100, killAtMs: 105 })
  watchdog.hear({ type: 'until', termAtMs: 11, killAtMs: 13 })
  step(10)
  t.same(did.slice(2), [`13: SIGKILL to ${group}`, '13: says kill'])
})

void t.test('who was paused over both times is killed at once', async (t) => {
  const { clock, watchdog, did } = watchdogOf()
  watchdog.hear({ type: 'guard', group, graceMs, termAtMs: 10, killAtMs: 15 })
  clock.advance(1_000)
  t.same(did, [`1000: SIGKILL to ${group}`, '1000: says kill'])
})

void t.test('a loss that nothing protects from is SIGKILL at once', async (t) => {
  const { watchdog, did, step } = watchdogOf()
  watchdog.hear({ type: 'guard', group, graceMs, termAtMs: 10, killAtMs: 15 })
  step(3)
  watchdog.hear({ type: 'until', termAtMs: 3, killAtMs: 3 })
  t.same(did, [`3: SIGKILL to ${group}`, '3: says kill'])
})

void t.test('when its owner dies the group has its grace, and no more than was left', async (t) => {
  for (const [at, killedAt] of [
    [2, 7],
    [9, 12],
  ] as const) {
    const { watchdog, did, step } = watchdogOf()
    watchdog.hear({ type: 'guard', group, graceMs, termAtMs: 11, killAtMs: 12 })
    step(at)
    const over = watchdog.ownerIsGone()
    step(20)
    await over
    t.same(did, [
      `${at}: SIGTERM to ${group}`,
      `${at}: says term`,
      `${killedAt}: SIGKILL to ${group}`,
      `${killedAt}: says kill`,
    ])
  }
})

void t.test('what has ended is left alone', async (t) => {
  const { watchdog, did, step } = watchdogOf()
  watchdog.hear({ type: 'guard', group, graceMs, termAtMs: 10, killAtMs: 15 })
  watchdog.hear({ type: 'done' })
  step(30)
  await watchdog.ownerIsGone()
  t.same(did, [])
})

void t.test('an owner that dies before it ran anything leaves nothing to do', async (t) => {
  const { watchdog, did } = watchdogOf()
  await watchdog.ownerIsGone()
  t.same(did, [])
})
