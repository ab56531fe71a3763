/**
 * Which process is which. A pid is given again after its process ended, so a process is known by its pid, the time at which it
 * started (field 22 of /proc/PID/stat) and the boot of the machine; whatever differs in one of these is another process, and is
 * never signalled.
 */
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'

const bootIdPath = '/proc/sys/kernel/random/boot_id'

export type ProcessState = {
  readonly parent: number
  /** Of its process group. */
  readonly group: number
  readonly startTicks: string
  /** It ended, and its parent has not asked how. */
  readonly isZombie: boolean
}

/** Null: there is none. */
export function processState(pid: number): ProcessState | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return null
  }
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

/** Of the machine since it was started last. */
export function bootId(): string {
  return readFileSync(bootIdPath, 'utf8').trim()
}

/**
 * Processes of this user whose environment has all of `words`, as `NAME=value`, and no variable that begins with `without`; those that
 * ended are left out.
 */
export async function processesWith(
  words: readonly string[],
  without: string | null = null,
): Promise<readonly number[]> {
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const text = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '')
    if (text === '') continue
    const environment = new Set(text.split('\0'))
    if (without !== null && [...environment].some((word) => word.startsWith(without))) continue
    if (words.every((word) => environment.has(word))) found.push(Number(name))
  }
  return found
}
