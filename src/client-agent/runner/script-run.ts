/** One run of a command beside a task, from its start to its end or to that of its time. */
import { onAbort, orAborted, within } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import type { LastBytes } from '../../lib/last-bytes.ts'
import type { RunningCommand } from '../drivers/exec-process.ts'

/** What was killed is waited for so long. Where a machine or a daemon does not end it, its caller goes on without it. */
const killedMsMax = 5_000

export type ScriptRun = {
  /** Null: it was killed with the signal. */
  readonly code: Promise<number | null>
  /** Resolves when nothing of it runs any more. Never rejects. */
  readonly ended: Promise<void>
}

/**
 * The command is killed with the signal, which is that of its timeout. `output`: where what it says is kept; null: nowhere. `code`
 * rejects where it does not start.
 */
export function runScript(
  start: () => Promise<RunningCommand>,
  output: LastBytes | null,
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
): ScriptRun {
  const run = codeOf(start, output, signal)
  const ended = run.then(
    () => {},
    () => {},
  )
  return { code: codeOrLate(run, signal, clock), ended }
}

async function codeOrLate(
  run: Promise<number>,
  signal: AbortSignal,
  clock: Clock,
): Promise<number | null> {
  const code = await orAborted<number | null>(run, signal, () => null)
  if (code === null) await within(run, clock, killedMsMax).catch(() => null)
  return code
}

async function codeOf(
  start: () => Promise<RunningCommand>,
  output: LastBytes | null,
  signal: AbortSignal,
): Promise<number> {
  const command = await start()
  const stopListening = onAbort(signal, () => command.kill())
  let code = 0
  try {
    command.endInput()
    for await (const part of command.output) {
      if (part.type === 'exited') code = part.code
      else output?.add(part.data)
    }
    await command.ended
    return code
  } finally {
    stopListening()
  }
}
