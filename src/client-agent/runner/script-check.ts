/** The runs of one check that is a command beside a task: exit code 0 is passing, 1 a warning, all else critical. One at a time. */
import { outputBytesMax, cutOutput, type CheckStatus } from '../../domains/catalog/model.ts'
import type { ProbeResult } from '../../domains/local-services/probes/probe-result.ts'
import type { Clock } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import { LastBytes } from '../../lib/last-bytes.ts'
import type { RunningCommand } from '../drivers/exec-process.ts'
import { runScript } from './script-run.ts'

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
    const run = runScript(start, output, { signal, clock: this.#clock })
    void run.ended.then(() => {
      this.#isRunning = false
    })
    try {
      const code = await run.code
      if (code === null) return critical(`Timed out and was killed\n${output.text()}`)
      return { status: statusOf(code), output: cutOutput(output.text()) }
    } catch (error) {
      return critical(textOf(error))
    }
  }
}

function statusOf(code: number): CheckStatus {
  if (code === 0) return 'passing'
  return code === 1 ? 'warning' : 'critical'
}

function critical(text: string): ProbeResult {
  return { status: 'critical', output: cutOutput(text) }
}
