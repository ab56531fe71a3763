/** The order in which workers get evaluations. */
import t from 'tap'
import { EvaluationQueue, type Queued } from '../../../src/domains/scheduling/evaluation-queue.ts'
import { deliveriesMax } from '../../../src/domains/scheduling/model.ts'
import { manualClock, type ManualClock } from '../../support/manual-clock.ts'

const all = new Set(['service', 'batch', 'system', 'sysbatch', '_core'])

function evaluation(id: string, about: Partial<Queued> = {}): Queued {
  return {
    id,
    namespace: 'default',
    jobId: `job of ${id}`,
    type: 'service',
    priority: 50,
    triggeredBy: 'job-register',
    waitUntilMs: 0,
    ...about,
  }
}

function queueOf() {
  const clock = manualClock()
  let calls = 0
  const queue = new EvaluationQueue(clock, () => {
    calls += 1
  })
  const take = (types: ReadonlySet<string> = all) => queue.take(types)?.id
  return { clock, queue, take, calls: () => calls }
}

t.test('the highest priority comes first, then the oldest', async (t) => {
  const { queue, take } = queueOf()
  queue.add(evaluation('a'))
  queue.add(evaluation('b', { priority: 70 }))
  queue.add(evaluation('c'))
  queue.add(evaluation('a', { priority: 100 }))
  t.same([take(), take(), take(), take()], ['b', 'a', 'c', undefined])
})

t.test('a worker gets the kinds that it takes', async (t) => {
  const { queue, take } = queueOf()
  queue.add(evaluation('a'))
  queue.add(evaluation('b', { type: 'batch' }))
  t.same([take(new Set(['batch'])), take(new Set(['batch'])), take()], ['b', undefined, 'a'])
})

t.test('of a job one is taken at a time', async (t) => {
  const { queue, take, calls } = queueOf()
  for (const id of ['a', 'b', 'c']) queue.add(evaluation(id, { jobId: 'web' }))
  queue.add(evaluation('d'))
  t.same([take(), take(), take()], ['a', 'd', undefined])
  const before = calls()
  queue.done('a')
  t.equal(calls(), before + 1)
  t.same([take(), take()], ['b', undefined])
  queue.done('b')
  t.equal(take(), 'c')
  queue.done('c')
  queue.done('d')
  t.equal(queue.size, 0)
})

t.test('one with a time waits until then', async (t) => {
  const { clock, queue, take } = queueOf()
  queue.add(evaluation('a', { waitUntilMs: clock.wallMs() + 5_000 }))
  clock.advance(4_900)
  t.equal(take(), undefined)
  clock.advance(300)
  t.equal(take(), 'a')
})

t.test('one that failed comes again later and later, and not for ever', async (t) => {
  const { clock, queue, take } = queueOf()
  queue.add(evaluation('a'))
  for (let delivery = 1; delivery < deliveriesMax; delivery += 1) {
    t.equal(take(), 'a')
    t.ok(queue.failed('a'))
    t.equal(take(), undefined)
    clock.advance(1_000 * delivery + 200)
  }
  t.equal(take(), 'a')
  t.notOk(queue.failed('a'))
  queue.done('a')
  t.notOk(queue.has('a'))
})

/** One comes every `everyMs`. */
function burst(queue: EvaluationQueue, clock: ManualClock, count: number, everyMs: number): void {
  for (let at = 0; at < count; at += 1) {
    queue.add(evaluation(`burst ${at}`))
    clock.advance(everyMs)
  }
}

t.test('registrations that come fast go before what follows from them', async (t) => {
  const { clock, queue, take, calls } = queueOf()
  burst(queue, clock, 12, 5)
  t.equal(take(), undefined)
  // What something else asked for is not held, nor is what came behind it.
  queue.add(evaluation('lost', { triggeredBy: 'node-update' }))
  t.equal(take(), 'lost')
  const before = calls()
  clock.advance(50)
  t.ok(calls() > before, 'its end is told')
  t.same([take(), take()], ['burst 0', 'burst 1'])
  t.equal(clock.timerCount, 0, 'nothing is watched any more')
})

t.test('a burst that does not end holds nothing for long', async (t) => {
  const { clock, queue, take } = queueOf()
  burst(queue, clock, 25, 10)
  t.equal(take(), 'burst 0')
  t.equal(take(), undefined, 'the others wait still')
  clock.advance(10)
  t.equal(take(), 'burst 1')
  // Other servers get what the own workers had time for.
  t.equal(queue.take(all, 250), null)
})

t.test('jobs that are registered one by one do not wait', async (t) => {
  const { clock, queue, take } = queueOf()
  for (let at = 0; at < 30; at += 1) {
    queue.add(evaluation(`single ${at}`))
    t.equal(take(), `single ${at}`)
    clock.advance(15)
  }
})

t.test('nothing is left of a burst at the stop', async (t) => {
  const { clock, queue } = queueOf()
  burst(queue, clock, 12, 5)
  queue.stop()
  t.equal(clock.timerCount, 0)
})
