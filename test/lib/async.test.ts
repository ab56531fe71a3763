import { getEventListeners } from 'node:events'
import t from 'tap'
import {
  deadlineOf,
  delay,
  Failure,
  firstOf,
  onAbort,
  orAborted,
  Pause,
  within,
} from '../../src/lib/async.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { collectGarbage } from '../support/heap.ts'
import { manualClock } from '../support/manual-clock.ts'

/** What a wait can leave behind: timers of the clock, listeners of the signal, listeners of the event. */
function world() {
  const clock = manualClock()
  const controller = new AbortController()
  const listeners = new Set<{
    readonly found: (value: string) => void
    readonly failed: (error: unknown) => void
  }>()
  return {
    clock,
    controller,
    signal: controller.signal,
    listen: (found: (value: string) => void, failed: (error: unknown) => void) => {
      const listener = { found, failed }
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    tell(value: string) {
      for (const { found } of listeners) found(value)
    },
    fail(error: unknown) {
      for (const { failed } of listeners) failed(error)
    },
    left: () => ({
      timers: clock.timerCount,
      signal: getEventListeners(controller.signal, 'abort').length,
      event: listeners.size,
    }),
  }
}

const waiting = { timers: 1, signal: 1, event: 1 }
const nothingLeft = { timers: 0, signal: 0, event: 0 }
const late = () => 'late'

/** How a wait can end: what happens, and what comes of it. */
const endings: readonly {
  readonly name: string
  readonly happen: (w: ReturnType<typeof world>) => void
  readonly outcome: string
}[] = [
  { name: 'the event', happen: (w) => w.tell('news'), outcome: 'news' },
  { name: 'a failure', happen: (w) => w.fail(new Error('broken')), outcome: 'Error: broken' },
  { name: 'a failure that is no error', happen: (w) => w.fail('odd'), outcome: 'Error: odd' },
  { name: 'the timer', happen: (w) => w.clock.advance(100), outcome: 'late' },
  {
    name: 'the signal',
    happen: (w) => w.controller.abort(),
    outcome: 'MusterError: the caller went away',
  },
]

for (const { name, happen, outcome } of endings) {
  t.test(`${name} ends a wait, and nothing else is heard of it`, async (t) => {
    const w = world()
    const { clock, signal, listen } = w
    const wait = firstOf({ clock, ms: 100, signal, listen, timeout: late })
    t.same(w.left(), waiting)
    happen(w)
    t.same(w.left(), nothingLeft, 'before the promise settles')
    w.tell('more')
    w.controller.abort()
    clock.advance(100)
    t.equal(await wait.catch(String), outcome)
  })
}

t.test('an event that is there already ends a wait at once', async (t) => {
  const w = world()
  const { clock, signal } = w
  const stops: string[] = []
  const wait = firstOf<string>({
    clock,
    ms: 100,
    signal,
    listen(found) {
      found('known')
      found('again')
      return () => stops.push('stopped')
    },
    timeout: late,
  })
  t.same(w.left(), nothingLeft)
  t.same(stops, ['stopped'])
  t.equal(await wait, 'known')
})

t.test('a signal that fired before begins nothing', async (t) => {
  const w = world()
  w.controller.abort()
  const { clock, signal } = w
  const listen = (): never => {
    throw new Error('nothing is listened to')
  }
  await t.rejects(firstOf({ clock, ms: 100, signal, listen, timeout: late }), { code: 'cancelled' })
  const aborted = () => 'gone'
  t.equal(await firstOf({ clock, ms: 100, signal, listen, timeout: late, aborted }), 'gone')
  t.same(w.left(), nothingLeft)
})

t.test('an outcome that throws rejects the wait', async (t) => {
  const w = world()
  const { clock, listen } = w
  const timeout = (): string => {
    throw new RangeError('too late')
  }
  const wait = firstOf({ clock, ms: 100, listen, timeout })
  clock.advance(100)
  await t.rejects(wait, new RangeError('too late'))
  t.same(w.left(), nothingLeft)
})

t.test('a listener that cannot listen rejects the wait', async (t) => {
  const w = world()
  const { clock, signal } = w
  const listen = (): never => {
    throw new Error('no room')
  }
  await t.rejects(firstOf({ clock, ms: 100, signal, listen, timeout: late }), new Error('no room'))
  t.same(w.left(), nothingLeft)
})

t.test('a delay ends when its time is up, or early when the signal fires', async (t) => {
  const w = world()
  let ended = false
  const slept = delay(w.clock, 100, w.signal).then(() => (ended = true))
  w.clock.advance(99)
  await Promise.resolve()
  t.notOk(ended)
  w.clock.advance(1)
  await slept
  t.same(w.left(), nothingLeft)

  const cut = delay(w.clock, 100, w.signal)
  w.controller.abort()
  await cut
  await delay(w.clock, 100, w.signal)
  t.same(w.left(), nothingLeft)
})

t.test('what a promise gives in time comes as it is', async (t) => {
  const { clock } = world()
  t.equal(await within(Promise.resolve(7), clock, 100), 7)
  await t.rejects(within(Promise.reject(new Error('no')), clock, 100), { message: 'no' })
  t.equal(clock.timerCount, 0)
})

t.test('a promise that is late is null, and how it ends is ignored', async (t) => {
  const { clock } = world()
  const slow = Promise.withResolvers<number>()
  const result = within(slow.promise, clock, 100)
  clock.advance(100)
  t.equal(await result, null)
  slow.reject(new Error('unheard'))
})

t.test('a promise is waited for until the signal fires', async (t) => {
  const { controller, signal, left } = world()
  t.equal(await orAborted(Promise.resolve(7), signal), 7)
  await t.rejects(orAborted(Promise.reject(new Error('no')), signal), { message: 'no' })
  t.same(left(), nothingLeft)
  const slow = Promise.withResolvers<number>()
  const unwanted = () => {
    throw new RangeError('unwanted')
  }
  const waits = () =>
    [
      orAborted(slow.promise, signal),
      orAborted(slow.promise, signal, () => 0),
      orAborted(slow.promise, signal, unwanted),
    ] as const
  const before = waits()
  controller.abort()
  for (const [cancelled, zero, thrown] of [before, waits()]) {
    await t.rejects(cancelled, { code: 'cancelled' })
    t.equal(await zero, 0)
    await t.rejects(thrown, new RangeError('unwanted'))
  }
  t.same(left(), nothingLeft)
  slow.reject(new Error('unheard'))
})

t.test(
  'a deadline fires when its time is over, or with the signal, and not once it is cancelled',
  async (t) => {
    const { clock, controller, signal, left } = world()
    const late = deadlineOf(clock, 100, signal)
    clock.advance(99)
    t.notOk(late.signal.aborted)
    clock.advance(1)
    t.ok(late.signal.aborted)
    t.match(late.signal.reason, { name: 'TimeoutError' })
    t.ok(late.isLate)
    t.same(left(), nothingLeft)

    const inTime = deadlineOf(clock, 100, signal)
    const alone = deadlineOf(clock, 100)
    t.same(left(), { timers: 2, signal: 1, event: 0 })
    inTime.cancel()
    alone.cancel()
    t.same(left(), nothingLeft)
    clock.advance(100)

    const ended = deadlineOf(clock, 100, signal)
    controller.abort(new Error('gone'))
    const begun = deadlineOf(clock, 100, signal)
    for (const { signal: own, isLate } of [ended, begun]) {
      t.match(own.reason, { message: 'gone' })
      t.notOk(isLate)
    }
    t.notOk(inTime.signal.aborted || alone.signal.aborted)
    t.same(left(), nothingLeft)
    late.cancel()
  },
)

t.test('a listener hears a signal once, until it stops listening', async (t) => {
  const { controller, signal, left } = world()
  const heard: string[] = []
  const stopEarly = onAbort(signal, () => heard.push('early'))
  const stopLate = onAbort(signal, () => heard.push('late'))
  stopEarly()
  stopEarly()
  controller.abort()
  stopLate()
  t.same(heard, ['late'])
  onAbort(signal, () => heard.push('after'))()
  t.same(heard, ['late', 'after'], 'it had fired already')
  onAbort(undefined, () => heard.push('never'))()
  t.same(heard, ['late', 'after'])
  t.same(left(), nothingLeft)
})

t.test('a pause ends when its time is up, when it is ended, or with the signal', async (t) => {
  const { clock, controller, signal, left } = world()
  const pause = new Pause(clock)
  pause.end()
  const endings = [() => clock.advance(100), () => pause.end(), () => controller.abort()]
  for (const end of endings) {
    const waited = pause.wait(100, signal)
    t.same(left(), { timers: 1, signal: 1, event: 0 })
    end()
    await waited
    t.same(left(), nothingLeft)
  }
})

t.test('a failure ends what is waited for, now and later, and the first one counts', async (t) => {
  const failure = new Failure()
  t.equal(await failure.until(Promise.resolve(7)), 7)
  await t.rejects(failure.until(Promise.reject(new Error('own'))), new Error('own'))
  const slow = Promise.withResolvers<number>()
  const waited = failure.until(slow.promise)
  failure.fail('broken')
  failure.fail(new Error('again'))
  await t.rejects(waited, new Error('broken'))
  slow.reject(new Error('unheard'))
  await t.rejects(failure.until(Promise.resolve(7)), new Error('broken'))
  await t.rejects(failure.until(Promise.reject(new Error('late'))), new Error('broken'))
  new Failure().fail(new Error('nobody waits for it'))
})

t.test('a failure that has not come keeps nothing of what was waited for', async (t) => {
  const failure = new Failure()
  const results: WeakRef<object>[] = []
  for (let n = 0; n < 10; n += 1) {
    results.push(new WeakRef(await failure.until(Promise.resolve({ n }))))
  }
  const left = () => results.filter((result) => result.deref() !== undefined).length
  await eventuallyTrue('collected', () => {
    collectGarbage()
    return left() === 0
  })
  failure.fail(new Error('it is there still'))
  t.equal(left(), 0)
})
