/** A command as it is, below the shell of `supervised-process.ts`: how it becomes the task, and whether it did. */
import { within } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import type { Exit, StartedTask } from './driver.ts'
import { pidsOf, shell, type ProcessToStart } from './supervised-process.ts'

/** How soon the beginning is seen of one that is started, and how long it is waited for. */
const beginMs = { every: 5, max: 10_000 } as const

/** Of a task that did not begin, because its pid could not be written down. It may be a task's own code as well. */
const notBegunCode = 125

/** What becomes the task: its pid, and that of the shell above, over what is there, as `above` does. */
const below = `printf '%010d %010d\\n' "$PPID" "$$" 2>/dev/null 1<>"$0" || exit ${notBegunCode}\nexec "$@"`

/** `words` of a command that is run as it is. */
export function asItIs(pids: string, command: readonly string[]): readonly string[] {
  return [shell, '-c', below, pids, ...command]
}

/** Of a command that is run as it is. Throws `unavailable` where it did not begin. */
export async function untilBegun(
  started: StartedTask,
  start: Pick<ProcessToStart, 'name' | 'pids'>,
  clock: Clock,
): Promise<StartedTask> {
  const untilMs = clock.monotonicMs() + beginMs.max
  let exit: Exit | null = null
  while (exit === null && clock.monotonicMs() < untilMs && !hasBegun(start)) {
    exit = await within(started.ended, clock, beginMs.every)
  }
  if (exit?.type !== 'known' || exit.code !== notBegunCode || hasBegun(start)) return started
  const text = `${start.name} does not start: its pid cannot be written to ${start.pids}: does the disk take writes?`
  throw new MusterError('unavailable', text)
}

function hasBegun(files: Pick<ProcessToStart, 'pids'>): boolean {
  try {
    return pidsOf(files) !== null
  } catch {
    // It cannot be known now.
    return false
  }
}
