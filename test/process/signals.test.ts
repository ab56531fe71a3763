/** How a process ends: gracefully, by force, or by a defect; with which code and which line. */
import { EventEmitter } from 'node:events'
import t from 'tap'
import { STOP_MS_MAX, watchLife } from '../../src/process/signals.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { eventuallyTrue } from '../support/eventually.ts'

/** A process that can be sent signals, a clock whose timers fire by hand, and what was seen. */
function watched() {
  const events = new EventEmitter()
  const codes: number[] = []
  const lines: string[] = []
  const timers = new Set<{ readonly delayMs: number; readonly run: () => void }>()
  const clock: Clock = {
    monotonicMs: () => 0,
    wallMs: () => 0,
    setTimer(delayMs, run) {
      const timer = { delayMs, run }
      timers.add(timer)
      return { cancel: () => void timers.delete(timer) }
    },
  }
  const note = (message: string, fields = {}) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`)
  const logger = { ...silentLogger, info: note, warn: note, error: note }
  const life = watchLife({ events, clock, logger, exit: (code) => void codes.push(code) })
  return { events, codes, lines, timers, life }
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

for (const signal of ['SIGTERM', 'SIGINT']) {
  t.test(`${signal} stops gracefully with exit code 0`, async (t) => {
    const { events, codes, lines, timers, life } = watched()
    let stops = 0
    life.onStop(async () => void (stops += 1))
    events.emit(signal, signal)
    t.ok(life.stopping.aborted)
    await settled()
    t.equal(stops, 1)
    t.same(codes, [0])
    t.equal(timers.size, 0, 'the bound is lifted')
    t.same(lines, [`stopping {"signal":"${signal}"}`, 'stopped {}'])
  })
}

t.test('a signal during the start stops as soon as there is something to stop', async (t) => {
  const { events, codes, life } = watched()
  events.emit('SIGTERM', 'SIGTERM')
  await settled()
  t.same(codes, [])
  life.onStop(async () => {})
  await settled()
  t.same(codes, [0])
})

t.test('a stop that may take longer by its settings has as much more', async (t) => {
  const { events, codes, timers, life } = watched()
  life.onStop(() => new Promise(() => {}), undefined, 60_000)
  events.emit('SIGTERM', 'SIGTERM')
  const [limit] = timers
  t.equal(limit?.delayMs, STOP_MS_MAX + 60_000)
  limit?.run()
  t.same(codes, [1])
})

t.test('a second signal ends at once', async (t) => {
  const { events, codes, life } = watched()
  life.onStop(() => new Promise(() => {}))
  events.emit('SIGTERM', 'SIGTERM')
  t.same(codes, [])
  events.emit('SIGINT', 'SIGINT')
  t.same(codes, [130])
})

t.test(
  'a configured wait comes before the stop, and a second signal skips the rest of it',
  async (t) => {
    for (const skip of [false, true]) {
      const { events, codes, timers, life, lines } = watched()
      const seen: string[] = []
      const wait = { ms: 30_000, begin: () => void seen.push('wait') }
      life.onStop(async () => void seen.push('stop'), wait)
      events.emit('SIGTERM', 'SIGTERM')
      await settled()
      t.same(seen, ['wait'])
      const [timer] = timers
      t.equal(timer?.delayMs, 30_000, 'the wait is not bounded by the time of a stop')
      if (skip) {
        events.emit('SIGINT', 'SIGINT')
        t.match(lines.at(-1), /a second signal: the rest of the wait is skipped/)
      } else {
        timers.clear()
        timer?.run()
      }
      await settled()
      t.same(seen, ['wait', 'stop'])
      t.same(codes, [0])
      t.equal(timers.size, 0)
    }
  },
)

t.test('a third signal ends at once, and a wait of nothing is none', async (t) => {
  const { events, codes, life } = watched()
  life.onStop(() => new Promise(() => {}), { ms: 1_000, begin: () => {} })
  for (const signal of ['SIGTERM', 'SIGTERM', 'SIGTERM']) events.emit(signal, signal)
  t.same(codes, [143])

  const quick = watched()
  quick.life.onStop(async () => {}, { ms: 0, begin: () => t.fail('there is nothing to wait for') })
  quick.events.emit('SIGTERM', 'SIGTERM')
  await settled()
  t.same(quick.codes, [0])
})

t.test('SIGHUP reads again, one at a time, and a failure is a line', async (t) => {
  const { events, codes, lines, life } = watched()
  events.emit('SIGHUP', 'SIGHUP')
  t.match(lines.at(-1), /nothing to read again/)
  let underWay = 0
  let times = 0
  life.onReload(async () => {
    underWay += 1
    t.equal(underWay, 1)
    await settled()
    underWay -= 1
    times += 1
    if (times === 2) throw new Error('no such file')
    return null
  })
  events.emit('SIGHUP', 'SIGHUP')
  events.emit('SIGHUP', 'SIGHUP')
  await eventuallyTrue('both were read', () => times === 2)
  await settled()
  t.match(lines.join('\n'), /read again[^]*what was read stays as it was .*no such file/)
  t.same(codes, [])
})

t.test(
  'a reload by the API takes its turn with SIGHUP, and its caller learns what failed',
  async (t) => {
    const { events, codes, life } = watched()
    await t.rejects(life.reload(), { code: 'unavailable' }, 'it is starting')
    const read: string[] = []
    life.onReload(async () => {
      read.push('begins')
      await settled()
      read.push('ends')
      if (read.length === 4) throw new Error('no such file')
      return 'ports.http takes a restart'
    })
    events.emit('SIGHUP', 'SIGHUP')
    await t.rejects(life.reload(), /no such file/)
    t.equal(await life.reload(), 'ports.http takes a restart')
    t.same(read, ['begins', 'ends', 'begins', 'ends', 'begins', 'ends'])
    events.emit('SIGTERM', 'SIGTERM')
    await t.rejects(life.reload(), { code: 'unavailable' }, 'it stops')
    t.equal(read.length, 6)
    t.same(codes, [])
  },
)

t.test('a stop that takes too long ends with exit code 1', async (t) => {
  const { events, codes, timers, life } = watched()
  life.onStop(() => new Promise(() => {}))
  events.emit('SIGTERM', 'SIGTERM')
  const [timer] = timers
  t.equal(timer?.delayMs, STOP_MS_MAX)
  timer?.run()
  t.same(codes, [1])
})

t.test(
  'a stop that fails, a defect and a failed disk end with exit code 1 and one line',
  async (t) => {
    const failing = watched()
    failing.life.onStop(() => Promise.reject(new Error('no hand-over')))
    failing.events.emit('SIGTERM', 'SIGTERM')
    await settled()
    t.same(failing.codes, [1])
    t.match(failing.lines.at(-1), /the graceful stop failed .*no hand-over/)

    for (const event of ['uncaughtException', 'unhandledRejection']) {
      const { events, codes, lines } = watched()
      events.emit(event, new Error('broken'))
      t.same(codes, [1])
      t.equal(lines.length, 1)
      t.match(lines[0], /a defect ended the process .*broken/)
    }

    const { life, codes, lines } = watched()
    life.die('the server cannot go on', 'disk is gone')
    t.same(codes, [1])
    t.same(lines, ['the server cannot go on {"error":"disk is gone"}'])
  },
)

t.test('after dispose nobody listens', async (t) => {
  const { events, life, timers } = watched()
  events.emit('SIGTERM', 'SIGTERM')
  life.dispose()
  t.equal(timers.size, 0)
  t.same(events.eventNames(), [])
})
