/** What is left of a time when an agent goes on where another one was, whatever the clock was set to. */
import t from 'tap'
import { asRead, asWritten } from '../../../src/client-agent/runner/kept-times.ts'
import type { KeptAllocation } from '../../../src/client-agent/runner/state-store.ts'
import { newTask, type TaskMachine } from '../../../src/client-agent/runner/task.ts'
import { withDefaults } from '../../../src/domains/jobs/defaults-model.ts'
import { assignedOf } from './assigned-of.ts'

const dayMs = Date.UTC(2026, 0, 31)
const hourMs = 3_600_000
const stop = { because: null, isFailure: false }

function clocks(monotonicMs: number, wallMs: number) {
  return { monotonicMs: () => monotonicMs, wallMs: () => wallMs }
}

function keptOf(...machines: readonly TaskMachine[]): KeptAllocation {
  const [group] = withDefaults({ ID: 'j', TaskGroups: [{ Name: 'g' }] }, 'default').TaskGroups
  if (group === undefined) throw new Error('a job has a group')
  return {
    version: 1,
    assigned: assignedOf('a', group),
    sinceMs: 100,
    isStopped: false,
    tasks: machines.map((machine) => ({ machine, handle: null })),
    health: null,
    isReported: false,
  }
}

/** At 1,000 of its process, which has 500 ms left of all that it waits for. */
const kept = keptOf(
  { ...newTask(dayMs), phase: { type: 'ending', untilMs: 1_500, stop } },
  { ...newTask(dayMs), phase: { type: 'delaying', untilMs: 1_500, stop } },
  { ...newTask(dayMs), phase: { type: 'waiting', untilMs: 1_500 } },
  {
    ...newTask(dayMs),
    phase: { type: 'running' },
    startedMs: dayMs,
    upMs: 200,
    interval: { sinceMs: 150, count: 1 },
  },
  { ...newTask(dayMs), phase: { type: 'ending', untilMs: null, stop } },
)
const written = asWritten(kept, clocks(1_000, dayMs))

/** By how much all times are other ones; NaN: not all by the same. */
function movedBy(read: KeptAllocation): number {
  const timesOf = ({ sinceMs, tasks }: KeptAllocation): readonly number[] => [
    sinceMs,
    ...tasks.flatMap(({ machine: { phase, upMs, interval } }) => [
      ...('untilMs' in phase && phase.untilMs !== null ? [phase.untilMs] : []),
      ...(upMs === undefined ? [] : [upMs]),
      ...(interval === null ? [] : [interval.sinceMs]),
    ]),
  ]
  const before = timesOf(kept)
  const by = new Set(timesOf(read).map((ms, at) => ms - (before[at] ?? NaN)))
  return by.size === 1 ? ([...by][0] ?? NaN) : NaN
}

t.test('the disk has times of the wall clock as it is now', async (t) => {
  t.equal(movedBy(written), dayMs - 1_000)
  t.equal(written.savedMs, dayMs)
  const set = asWritten(kept, clocks(1_000, dayMs + hourMs))
  t.equal(movedBy(set), dayMs + hourMs - 1_000)
  t.equal(set.tasks[3]?.machine.startedMs, dayMs, 'what is shown stays')
  t.equal(set.tasks[3]?.machine.events[0]?.timeNs, written.tasks[3]?.machine.events[0]?.timeNs)
})

t.test('the next process finds what is left, less the time between', async (t) => {
  t.equal(movedBy(asRead(written, clocks(10, dayMs))), 10 - 1_000)
  t.equal(movedBy(asRead(written, clocks(10, dayMs + 300))), 10 - 1_000 - 300)
})

t.test('a clock that was set back between them makes nothing last longer', async (t) => {
  t.equal(movedBy(asRead(written, clocks(10, dayMs - hourMs))), 10 - 1_000)
})

t.test('of a state that an earlier version wrote, the shown start counts', async (t) => {
  const { savedMs: _, ...earlier } = asWritten(
    keptOf({ ...newTask(dayMs), phase: { type: 'running' }, startedMs: dayMs - 700 }),
    clocks(1_000, dayMs),
  )
  t.equal(asRead(earlier, clocks(10, dayMs)).tasks[0]?.machine.upMs, 10 - 700)
  const [task] = asRead(earlier, clocks(10, dayMs - hourMs)).tasks
  t.ok((task?.machine.upMs ?? Infinity) <= 1_000, 'it did not begin in an hour')
})
