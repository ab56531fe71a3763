/** The runs of one check that is a command beside a task: exit code 0 is passing, 1 a warning, all else critical. One at a time. */
import { outputBytesMax, cutOutput, type CheckStatus } from '../../domains/catalog/model.ts'
import type { ProbeResult } from '../../domains/local-services/probes/probe-result.ts'
import { onAbort, within } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import { LastBytes } from '../../lib/last-bytes.ts'
import type { RunningCommand } from '../drivers/exec-process.ts'

/** What was killed is waited for so long. Where a machine or a daemon does not end it, the check goes on without it. */
const killedMsMax = 5_000

export class ScriptCheck {
  readonly #clock: Clock
  #isRunning = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Never rejects. The command is killed with the signal, which is that of its timeout. */
  async run(start: () => Promise<RunningCommand>, signal: AbortSignal): Promise<ProbeResult> {
    if (this.#isRunning) return critical('The run before was killed and has not ended yet')
    this.#isRunning = true
    const output = new LastBytes(outputBytesMax)
    const run = codeOf(start, output, signal).finally(() => {
      this.#isRunning = false
    })
    const late = Promise.withResolvers<'late'>()
    const stopListening = onAbort(signal, () => late.resolve('late'))
    try {
      const code = await Promise.race([run, late.promise])
      if (code !== 'late') return { status: statusOf(code), output: cutOutput(output.text()) }
      await within(run, this.#clock, killedMsMax).catch(() => null)
      return critical(`Timed out and was killed\n${output.text()}`)
    } catch (error) {
      return critical(textOf(error))
    } finally {
      stopListening()
    }
  }
}

/** Resolves when nothing of it runs any more. */
async function codeOf(
  start: () => Promise<RunningCommand>,
  output: LastBytes,
  signal: AbortSignal,
): Promise<number> {
  const command = await start()
  const stopListening = onAbort(signal, () => command.kill())
  let code = 0
  try {
    command.endInput()
    for await (const part of command.output) {
      if (part.type === 'exited') code = part.code
      else output.add(part.data)
    }
    await command.ended
    return code
  } finally {
    stopListening()
  }
}

function statusOf(code: number): CheckStatus {
  if (code === 0) return 'passing'
  return code === 1 ? 'warning' : 'critical'
}

function critical(text: string): ProbeResult {
  return { status: 'critical', output: cutOutput(text) }
}
