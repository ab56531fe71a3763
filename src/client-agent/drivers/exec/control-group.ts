/**
 * Control groups (cgroup v2): what a task may take of the machine. One for each task, below one for all of them, as files in a folder
 * tree that the kernel makes. A machine that has none, or lets none be made, runs tasks without limits, and says why.
 */
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { delay } from '../../../lib/async.ts'
import type { Clock } from '../../../lib/clock.ts'
import { MusterError, systemCodeOf, textOf } from '../../../lib/errors.ts'
import { cpuSharesMax, cpuSharesMin, cpuSharesOf } from '../cpu-shares.ts'
import type { TaskToStart } from '../driver.ts'

export const controlGroupsFolder = '/sys/fs/cgroup'
const controllers = ['cpu', 'memory', 'pids'] as const
/** Processes and threads of one task. */
const pidsMax = 4_096
const mib = 1_024 * 1_024
/** Until the kernel has taken the last process out of a group that is removed. */
const removals = { rounds: 40, everyMs: 50 } as const

export type ControlGroups =
  | { readonly type: 'there'; readonly folder: string }
  | { readonly type: 'missing'; readonly reason: string }

/** Makes the one for all tasks. `parent`: its name below `root`. Never rejects. */
export async function openControlGroups(root: string, parent: string): Promise<ControlGroups> {
  try {
    const known = (await readFile(join(root, 'cgroup.controllers'), 'utf8')).trim().split(' ')
    const lacking = controllers.filter((name) => !known.includes(name))
    if (lacking.length > 0) throw new Error(`without the controllers ${lacking.join(', ')}`)
    const folder = join(root, parent)
    await makeGroup(folder)
    const passedOn = controllers.map((name) => `+${name}`).join(' ')
    await writeFile(join(root, 'cgroup.subtree_control'), passedOn)
    await writeFile(join(folder, 'cgroup.subtree_control'), passedOn)
    return { type: 'there', folder }
  } catch (error) {
    const why = systemCodeOf(error) === 'ENOENT' ? 'not there' : textOf(error)
    const reason = `no cgroup v2 at ${root} (${why}): tasks run without limits`
    return { type: 'missing', reason }
  }
}

/** Of one task. */
export class ControlGroup {
  readonly folder: string

  constructor(parent: string, { allocation, task }: Pick<TaskToStart, 'allocation' | 'task'>) {
    this.folder = join(parent, `${allocation}.${nameOf(task)}.scope`)
  }

  /** An earlier run of the task may have left it. Throws `unavailable`. */
  async make({ cpuMhz, memoryMb, memoryMaxMb }: TaskToStart['resources']): Promise<void> {
    try {
      await makeGroup(this.folder)
      await this.#set('memory.max', memoryMaxMb === null ? 'max' : String(memoryMaxMb * mib))
      // Where the machine runs short, what it has above is taken from it first.
      if (memoryMaxMb === null || memoryMaxMb > memoryMb) {
        await this.#set('memory.low', String(memoryMb * mib))
      }
      // Where the machine has no swap there is no such file.
      await this.#set('memory.swap.max', '0').catch(() => {})
      await this.#set('cpu.weight', String(weightOf(cpuMhz)))
      await this.#set('pids.max', String(pidsMax))
    } catch (error) {
      const text = `the limits of the task cannot be set: ${textOf(error)}`
      throw new MusterError('unavailable', text)
    }
  }

  /** How often the kernel ended a process for want of memory. */
  async oomKills(): Promise<number> {
    const text = await readFile(join(this.folder, 'memory.events'), 'utf8').catch(() => '')
    return Number(/^oom_kill (\d{1,15})$/m.exec(text)?.[1] ?? 0)
  }

  /** With all that is in it. Never rejects. */
  async remove(clock: Clock): Promise<void> {
    await this.#set('cgroup.kill', '1').catch(() => {})
    for (let round = 0; round < removals.rounds; round += 1) {
      const left = await rmdir(this.folder).then(
        () => null,
        (error: unknown) => systemCodeOf(error),
      )
      if (left !== 'EBUSY') return
      await delay(clock, removals.everyMs)
    }
  }

  async #set(file: string, value: string): Promise<void> {
    await writeFile(join(this.folder, file), value)
  }
}

/** The kernel's own conversion of shares into weights: 2 to 262,144 become 1 to 10,000. */
export function weightOf(mhz: number): number {
  const above = cpuSharesOf(mhz) - cpuSharesMin
  return Math.trunc(1 + (above * 9_999) / (cpuSharesMax - cpuSharesMin))
}

/** Names of tasks may hold what no name of a folder does. */
function nameOf(task: string): string {
  return encodeURIComponent(task).slice(0, 128)
}

async function makeGroup(folder: string): Promise<void> {
  await mkdir(folder).catch((error: unknown) => {
    if (systemCodeOf(error) !== 'EEXIST') throw error
  })
}
