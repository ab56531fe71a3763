/**
 * Which process is which. A pid is given again after its process ended, so a process is known by its pid, the time at which it
 * started (field 22 of /proc/PID/stat) and the boot of the machine; whatever differs in one of these is another process, and is
 * never signalled.
 */
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { delay } from '../../lib/async.ts'
import { systemClock, type Clock } from '../../lib/clock.ts'
import { systemCodeOf } from '../../lib/errors.ts'

const bootIdPath = '/proc/sys/kernel/random/boot_id'
let knownBootId: string | null = null
const lookAgainMs = 250
/** Of a file of a process that ended, or is not this user's. */
const gone: ReadonlySet<string> = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM'])
const shortages: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])

export type ProcessState = {
  readonly parent: number
  /** Of its process group. */
  readonly group: number
  readonly startTicks: string
  /** It ended, and its parent has not asked how. */
  readonly isZombie: boolean
}

/**
 * Null: there is none, or it is another user's, and so none of a task's above. Throws where it cannot be known now, as without a free
 * descriptor: a process that cannot be seen may run.
 */
export function knownState(pid: number): ProcessState | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    if (gone.has(systemCodeOf(error))) return null
    throw error
  }
}

/** Null also where it cannot be known now: for what nothing is decided by. */
export function processState(pid: number): ProcessState | null {
  try {
    return knownState(pid)
  } catch {
    return null
  }
}

/** Looks again after a pause, each time that the system refused it. */
export async function lookedAt<Seen>(
  clock: Clock,
  look: () => Seen | Promise<Seen>,
): Promise<Seen> {
  for (;;) {
    try {
      return await look()
    } catch (error) {
      // What the system refuses says nothing of what is there.
      if (systemCodeOf(error) === '') throw error
    }
    await delay(clock, lookAgainMs)
  }
}

/** The machine had no descriptor, or no memory, for it. */
export function isShortage(error: unknown): boolean {
  return shortages.has(systemCodeOf(error))
}

/** `pid (name) state ppid pgrp … starttime …`, where the name may hold blanks and parentheses. */
export function parseStat(text: string): ProcessState | null {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parent, group] = fields
  const startTicks = fields[19]
  if (state === undefined || parent === undefined || group === undefined) return null
  if (startTicks === undefined || !/^\d+$/.test(startTicks)) return null
  const isZombie = state === 'Z' || state === 'X'
  return { parent: Number(parent), group: Number(group), startTicks, isZombie }
}

/** Of the machine since it was started last. Throws where it was never read and cannot be now. */
export function bootId(): string {
  knownBootId ??= readFileSync(bootIdPath, 'utf8').trim()
  return knownBootId
}

/**
 * Processes of this user whose environment has all of `words`, as `NAME=value`, and no variable that begins with `without`; those that
 * ended are left out. Resolves once all could be looked at.
 */
export function processesWith(
  words: readonly string[],
  without: string | null = null,
  clock: Clock = systemClock,
): Promise<readonly number[]> {
  return lookedAt(clock, async () => {
    const found: number[] = []
    for (const name of await readdir('/proc')) {
      if (!/^\d+$/.test(name)) continue
      const text = await readFile(`/proc/${name}/environ`, 'latin1').catch((error: unknown) => {
        if (isShortage(error)) throw error
        return ''
      })
      if (text === '') continue
      const environment = new Set(text.split('\0'))
      if (without !== null && [...environment].some((word) => word.startsWith(without))) continue
      if (words.every((word) => environment.has(word))) found.push(Number(name))
    }
    return found
  })
}
