/** The output that is left when a container has ended: for as long as it flows. */
import { deadlineOf } from '../../../lib/async.ts'
import type { Clock } from '../../../lib/clock.ts'
import { formatDurationMs } from '../../../lib/duration.ts'
import { textOf } from '../../../lib/errors.ts'
import { copyLogs, type LogCopyOf } from './log-copy.ts'

const lastLogsMs = { silence: 15_000, whole: 300_000 } as const

export type LastLogsOf = {
  readonly tty: boolean
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Without a byte, and in all. */
  readonly ms?: { readonly silence: number; readonly whole: number }
}

/** Why the end of it may be lost; null: it is copied, or the signal fired. Never rejects. */
export async function copyLastLogs(
  logs: LogCopyOf,
  { tty, clock, signal, ms = lastLogsMs }: LastLogsOf,
): Promise<string | null> {
  const whole = deadlineOf(clock, ms.whole, signal)
  const silence = new AbortController()
  const bound = AbortSignal.any([whole.signal, silence.signal])
  const wait = () => clock.setTimer(ms.silence, () => silence.abort())
  let timer = wait()
  const heard = (): void => {
    timer.cancel()
    timer = wait()
  }
  try {
    await copyLogs(logs, { tty, follow: false, signal: bound, heard })
    return null
  } catch (error) {
    if (signal.aborted) return null
    if (whole.isLate) return `it was not copied within ${formatDurationMs(ms.whole)}`
    if (!silence.signal.aborted) return textOf(error)
    return `Docker sent nothing more of it for ${formatDurationMs(ms.silence)}`
  } finally {
    timer.cancel()
    whole.cancel()
  }
}
