/**
 * The times in the state of an allocation. A process of the agent measures by its monotonic clock, which means nothing to the next
 * one: the disk has them as the wall clock has it when they are written, so that the next process finds how much is left of each.
 * Times that are only shown stay what they were.
 */
import type { Clock } from '../../lib/clock.ts'
import type { KeptAllocation } from './state-store.ts'
import type { TaskMachine } from './task.ts'

type Clocks = Pick<Clock, 'monotonicMs' | 'wallMs'>

export function asWritten(kept: KeptAllocation, clock: Clocks): KeptAllocation {
  const savedMs = clock.wallMs()
  return { ...moved(kept, savedMs - clock.monotonicMs()), savedMs }
}

/** Where the wall clock was set back since, no time has passed: nothing lasts longer than it would have. */
export function asRead(kept: KeptAllocation, clock: Clocks): KeptAllocation {
  const wallMs = Math.max(clock.wallMs(), kept.savedMs ?? kept.sinceMs)
  return moved({ ...kept, tasks: kept.tasks.map(withUp) }, clock.monotonicMs() - wallMs)
}

/** Earlier versions kept only what is shown. */
function withUp<Task extends { readonly machine: TaskMachine }>(task: Task): Task {
  const { upMs, startedMs } = task.machine
  if (upMs !== undefined || startedMs === null) return task
  return { ...task, machine: { ...task.machine, upMs: startedMs } }
}

function moved(kept: KeptAllocation, byMs: number): KeptAllocation {
  const tasks = kept.tasks.map((task) => ({ ...task, machine: movedTask(task.machine, byMs) }))
  return { ...kept, sinceMs: kept.sinceMs + byMs, tasks }
}

function movedTask(machine: TaskMachine, byMs: number): TaskMachine {
  const { upMs, interval } = machine
  return {
    ...machine,
    phase: movedPhase(machine.phase, byMs),
    ...(upMs !== undefined && { upMs: upMs + byMs }),
    interval: interval === null ? null : { ...interval, sinceMs: interval.sinceMs + byMs },
  }
}

function movedPhase(phase: TaskMachine['phase'], byMs: number): TaskMachine['phase'] {
  switch (phase.type) {
    case 'waiting':
    case 'delaying':
      return { ...phase, untilMs: phase.untilMs + byMs }
    case 'ending':
      return { ...phase, untilMs: phase.untilMs === null ? null : phase.untilMs + byMs }
    default:
      return phase
  }
}
