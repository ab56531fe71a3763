/** A task within its walls, as it is seen from outside: its first process, and what becomes of its control group. */
import { delay } from '../../../lib/async.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Exit, Handle, StartedTask, TaskToStart } from '../driver.ts'
import { execMark } from '../exec-process.ts'
import { knownState, processesWith } from '../process-identity.ts'
import { filesOf, pidsOf } from '../supervised-process.ts'
import type { ControlGroup } from './control-group.ts'

/** The kernel takes a moment to end all that is within. What it cannot end, as a process that waits for a broken disk, is left. */
const goneMs = { every: 10, max: 5_000 } as const

type Process = { readonly pid: number; readonly startTicks: string }

export class WalledTask implements StartedTask {
  readonly ended: Promise<Exit>
  readonly #task: TaskToStart
  readonly #started: StartedTask
  /** When it is gone, so are all others within the walls. Null: not known yet. */
  #first: Process | null = null

  /** `group`: null where there are none. */
  constructor(task: TaskToStart, started: StartedTask, group: ControlGroup | null, clock: Clock) {
    this.#task = task
    this.#started = started
    this.ended = this.#end(group, clock)
    this.lookWithin()
  }

  get handle(): Handle {
    return this.#started.handle
  }

  /** To be called once its walls are built. */
  lookWithin(): void {
    if (this.#first !== null) return
    try {
      const pid = firstProcessOf(this.#task)
      const startTicks = pid === null ? undefined : knownState(pid)?.startTicks
      if (pid !== null && startTicks !== undefined) this.#first = { pid, startTicks }
    } catch {
      // It cannot be seen now: its marks are looked for at the end.
    }
  }

  signal(name: string): void {
    this.#started.signal(name)
  }

  kill(): void {
    this.lookWithin()
    this.#started.kill()
  }

  release(): void {
    this.#started.release()
  }

  async #isThere(): Promise<boolean> {
    if (this.#first !== null) return isThere(this.#first)
    // It ended before its walls were built, or long ago: until then all of it bears the marks.
    return (await processesWith(filesOf(this.#task).marks, execMark)).length > 0
  }

  async #end(group: ControlGroup | null, clock: Clock): Promise<Exit> {
    const exit = await this.#started.ended
    const untilMs = clock.monotonicMs() + goneMs.max
    while (clock.monotonicMs() < untilMs && (await this.#isThere())) {
      await delay(clock, goneMs.every)
    }
    if (group === null) return exit
    const kills = await group.oomKills()
    await group.remove(clock)
    return exit.type === 'known' && kills > 0 ? ofMemory(exit) : exit
  }
}

/** Of the namespaces of a task that runs. Null: it does not, or its walls are not built yet. Throws where that cannot be known now. */
export function firstProcessOf(task: TaskToStart): number | null {
  const pids = pidsOf(filesOf(task))
  const first = pids === null ? null : parentOf(pids.task)
  const above = first === null ? null : parentOf(parentOf(first) ?? 0)
  return above === pids?.above ? first : null
}

function ofMemory(exit: Extract<Exit, { type: 'known' }>): Exit {
  return { ...exit, message: 'OOM Killed', oomKilled: true }
}

/** It ends after all others within, and is a zombie then. What cannot be seen now may be there. */
function isThere({ pid, startTicks }: Process): boolean {
  try {
    const state = knownState(pid)
    return state !== null && state.startTicks === startTicks && !state.isZombie
  } catch {
    return true
  }
}

function parentOf(pid: number): number | null {
  return knownState(pid)?.parent ?? null
}
