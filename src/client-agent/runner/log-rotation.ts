/** Looks at the files of an allocation's output from time to time, more often while much is written. */
import type { Task } from '../../domains/jobs/task-model.ts'
import { logKinds } from '../../domains/tasks/services.ts'
import type { Clock } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import { finishLog, rotateLog } from './log-files.ts'
import type { AllocationFolder } from './task-folders.ts'

const everyMs = { seldom: 5_000, often: 500 } as const
const mib = 1024 * 1024
const failure = 'the output of a task is not kept small'

export class LogRotation {
  readonly #host: { readonly clock: Clock; readonly log: Logger }
  readonly #folder: AllocationFolder
  readonly #tasks: readonly Task[]
  #running: Running | null = null
  #finished: Promise<void> | null = null

  constructor(
    host: { readonly clock: Clock; readonly log: Logger },
    folder: AllocationFolder,
    tasks: readonly Task[],
  ) {
    this.#host = host
    this.#folder = folder
    this.#tasks = tasks
  }

  start(): void {
    const { clock, log } = this.#host
    this.#running ??= periodic({
      clock,
      log,
      failure,
      firstMs: everyMs.seldom,
      everyMs: everyMs.seldom,
      retryMs: everyMs.seldom,
      round: () => this.#round(rotateLog),
    })
  }

  /** All that writes has ended: looks once more, and no more. */
  finish(): void {
    this.#finished ??= this.#finish()
  }

  /** Resolves once no look is under way. */
  async stop(): Promise<void> {
    const running = this.#running
    this.#running = null
    await running?.stop()
    await this.#finished
  }

  async #finish(): Promise<void> {
    const running = this.#running
    this.#running = null
    await running?.stop()
    await this.#round(finishLog).catch((error: unknown) => {
      this.#host.log.warn(failure, { folder: this.#folder.logs, error: textOf(error) })
    })
  }

  async #round(look: typeof rotateLog): Promise<number> {
    let isBusy = false
    for (const { Name, LogConfig } of this.#tasks) {
      const bytesMax = Math.max(1, LogConfig.MaxFileSizeMB) * mib
      const limits = { filesMax: LogConfig.MaxFiles, bytesMax }
      for (const kind of logKinds) {
        const { logs } = this.#folder
        const { bytes, isNew, droppedBytes } = await look(logs, Name, kind, limits)
        if (isNew || bytes > bytesMax / 2) isBusy = true
        if (droppedBytes > 0) {
          this.#host.log.warn('a task wrote more than its log files hold, the oldest is dropped', {
            task: Name,
            file: kind,
            folder: logs,
            bytes: droppedBytes,
          })
        }
      }
    }
    return isBusy ? everyMs.often : everyMs.seldom
  }
}
