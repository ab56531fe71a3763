/**
 * Commands that run beside one task because its templates are others: one after another, and one that waits already is not
 * asked for twice, so that many changes are no more commands at a time.
 */
import type { ChangeScript } from '../../../domains/jobs/task-model.ts'
import { timerMsMax, type Clock } from '../../../lib/clock.ts'
import { nsPerMs } from '../../../lib/duration.ts'
import { textOf } from '../../../lib/errors.ts'
import type { RunningCommand } from '../../drivers/exec-process.ts'
import { runScript } from '../script-run.ts'
import { scriptFailed, scriptRan, type EventSeed } from '../task-events.ts'

export type ChangeScriptsOptions = {
  readonly clock: Clock
  /** Rejects where the task does not run any more, and where the command does not start. */
  readonly start: (words: readonly string[]) => Promise<RunningCommand>
  readonly isWanted: () => boolean
  readonly tell: (event: EventSeed) => void
  /** The task is to fail because of it. */
  readonly onFailed: () => void
}

export class ChangeScripts {
  readonly #options: ChangeScriptsOptions
  readonly #waiting = new Set<ChangeScript>()
  #isRunning = false

  constructor(options: ChangeScriptsOptions) {
    this.#options = options
  }

  run(scripts: readonly ChangeScript[]): void {
    for (const script of scripts) this.#waiting.add(script)
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#runAll()
  }

  /** Never rejects. */
  async #runAll(): Promise<void> {
    const { isWanted, tell, onFailed } = this.#options
    for (const script of this.#waiting) {
      this.#waiting.delete(script)
      const problem = await this.#problemOf(script)
      // What ends with its task did not fail.
      if (!isWanted()) continue
      const words = [script.Command, ...script.Args].join(' ')
      tell(problem === null ? scriptRan(words) : scriptFailed(words, problem))
      if (problem !== null && script.FailOnError) onFailed()
    }
    this.#isRunning = false
  }

  /** Null: it ended well. */
  async #problemOf({ Command, Args, Timeout }: ChangeScript): Promise<string | null> {
    const { clock, start } = this.#options
    const timeout = new AbortController()
    const waitMs = Math.min(timerMsMax, Math.max(0, Timeout / nsPerMs))
    const timer = clock.setTimer(waitMs, () => timeout.abort())
    try {
      const bounds = { signal: timeout.signal, clock }
      // What it says is not kept: that may be what its files hold, and events are for everyone who may read the job.
      const code = await runScript(() => start([Command, ...Args]), null, bounds).code
      if (code === 0) return null
      return code === null ? 'it was killed when its timeout was over' : `exit code ${code}`
    } catch (error) {
      return textOf(error)
    } finally {
      timer.cancel()
    }
  }
}
