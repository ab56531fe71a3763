/** The scheduler workers of a server: how many, which kinds, and what a change does. */
import t from 'tap'
import { systemClock } from '../../../src/lib/clock.ts'
import { underWayMax, WorkerPool } from '../../../src/domains/scheduling/workers.ts'

function poolOf(options: { count?: number; enabled?: readonly string[]; leads?: boolean } = {}) {
  return new WorkerPool({
    clock: systemClock,
    leads: () => options.leads ?? false,
    count: options.count ?? null,
    enabled: options.enabled ?? null,
    countMax: 8,
  })
}

t.test('by default one per processor, of every kind', (t) => {
  const workers = poolOf().workers()
  t.equal(workers.length, 8)
  t.equal(new Set(workers.map(({ id }) => id)).size, 8)
  for (const { started, status, workloadStatus, enabled } of workers) {
    t.match(started, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/)
    t.same([status, workloadStatus], ['Started', 'WaitingToDequeue'])
    t.same(enabled, ['service', 'batch', 'system', 'sysbatch', '_core'])
  }
  t.same(poolOf({ count: 100, enabled: ['batch'] }).config, {
    count: 8,
    enabled: ['batch', '_core'],
  })
  t.end()
})

t.test('a leader rests most of them', (t) => {
  const statuses = (count: number) =>
    poolOf({ count, leads: true })
      .workers()
      .map(({ status }) => status)
  t.equal(statuses(8).filter((status) => status === 'Paused').length, 6)
  t.same(statuses(1), ['Started'])
  t.same(statuses(0), [])
  t.end()
})

t.test('a change makes new workers, the same values do not', (t) => {
  const pool = poolOf({ count: 2 })
  const before = pool.workers()
  pool.configure({ count: 2, enabled: ['_core', 'sysbatch', 'system', 'batch', 'service'] })
  t.same(pool.workers(), before)
  const config = pool.configure({ count: 2, enabled: ['_core', 'batch', 'batch'] })
  t.same(config, { count: 2, enabled: ['batch', '_core'] })
  t.notSame(
    pool.workers().map(({ id }) => id),
    before.map(({ id }) => id),
  )
  t.end()
})

t.test('what cannot be is refused, and nothing changes', (t) => {
  const pool = poolOf({ count: 2 })
  const before = pool.workers()
  const cases = [
    [9, ['_core'], /from 0 to the number of processors, 8, not 9/],
    [-1, ['_core'], /num_schedulers/],
    [1, ['batch'], /must hold _core/],
    [1, [], /must hold _core/],
    [1, ['_core', 'nope'], /there is no scheduler "nope"; there are service, batch/],
  ] as const
  for (const [count, enabled, message] of cases) {
    t.throws(() => pool.configure({ count, enabled }), { code: 'invalid_argument', message })
  }
  t.same(pool.workers(), before)
  t.end()
})

t.test('a worker has several evaluations under way, and rests while it leads', (t) => {
  const pool = poolOf({ count: 8, leads: true })
  const tasks = Array.from({ length: 2 * underWayMax }, () => pool.begin())
  t.notOk(pool.hasRoom)
  const shown = () => pool.workers().map(({ workloadStatus }) => workloadStatus)
  const rest = Array.from({ length: 6 }, () => 'Paused')
  t.same(shown(), [...rest, 'Scheduling', 'Scheduling'])
  for (const task of tasks) task.become('submitting')
  t.same(shown(), [...rest, 'Submitting', 'Submitting'])
  for (const task of tasks) task.end()
  t.same(shown(), [...rest, 'WaitingToDequeue', 'WaitingToDequeue'])
  t.ok(pool.hasRoom)
  t.end()
})

t.test('with no workers there is no room, and a change is told', (t) => {
  const pool = poolOf({ count: 0 })
  t.notOk(pool.hasRoom)
  let changes = 0
  const stop = pool.listen(() => {
    changes += 1
  })
  pool.configure({ count: 1, enabled: ['batch', '_core'] })
  t.same([changes, pool.hasRoom, [...pool.types]], [1, true, ['batch', '_core']])
  stop()
  pool.configure({ count: 2, enabled: ['_core'] })
  t.equal(changes, 1)
  t.end()
})
