/** Looks at the files of an allocation's output from time to time, more often while much is written. */
import type { Task } from '../../domains/jobs/task-model.ts'
import { logKinds, type LogKind } from '../../domains/tasks/services.ts'
import type { Clock } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import { finishLog, rotateLog, type Rotated } from './log-files.ts'
import type { AllocationFolder } from './task-folders.ts'

const everyMs = { seldom: 5_000, often: 500 } as const
const mib = 1024 * 1024
/** Of what may be so for long. */
const tellEveryMs = 300_000
const failure = 'the output of a task is not kept small'

export class LogRotation {
  readonly #host: { readonly clock: Clock; readonly log: Logger }
  readonly #folder: AllocationFolder
  readonly #tasks: readonly Task[]
  /** By file: when it was told last, and what was dropped since. */
  readonly #told = new Map<string, { readonly atMs: number; readonly bytes: number }>()
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

  /** What fails at one file does not keep the others from being looked at. */
  async #round(look: typeof rotateLog): Promise<number> {
    let isBusy = false
    for (const { Name, LogConfig } of this.#tasks) {
      const bytesMax = Math.max(1, LogConfig.MaxFileSizeMB) * mib
      const limits = { filesMax: LogConfig.MaxFiles, bytesMax }
      for (const kind of logKinds) {
        const { logs } = this.#folder
        try {
          const rotated = await look(logs, Name, kind, limits)
          const { bytes, isNew, refusal } = rotated
          if (isNew || refusal !== null || bytes > bytesMax / 2) isBusy = true
          this.#tellDropped(Name, kind, rotated)
        } catch (error) {
          this.#tellRarely(Name, kind, failure, { error: textOf(error) })
        }
      }
    }
    return isBusy ? everyMs.often : everyMs.seldom
  }

  #tellDropped(task: string, file: LogKind, { droppedBytes, refusal }: Rotated): void {
    if (refusal !== null) {
      const text = 'the disk has no room for the output of a task, the oldest is dropped'
      this.#tellRarely(task, file, text, { error: refusal }, droppedBytes)
    } else if (droppedBytes > 0) {
      const text = 'a task wrote more than its log files hold, the oldest is dropped'
      this.#host.log.warn(text, { ...this.#namesOf(task, file), bytes: droppedBytes })
    }
  }

  /** At once, and then what came since, for as long as it is so. */
  #tellRarely(task: string, file: LogKind, text: string, why: { error: string }, bytes = 0): void {
    const { clock, log } = this.#host
    const key = `${task}.${file}`
    const before = this.#told.get(key)
    const nowMs = clock.monotonicMs()
    const sum = bytes + (before?.bytes ?? 0)
    if (before !== undefined && nowMs < before.atMs + tellEveryMs) {
      this.#told.set(key, { ...before, bytes: sum })
      return
    }
    this.#told.set(key, { atMs: nowMs, bytes: 0 })
    log.warn(text, { ...this.#namesOf(task, file), ...(sum > 0 && { bytes: sum }), ...why })
  }

  #namesOf(task: string, file: LogKind) {
    return { allocation: this.#folder.id, task, file, folder: this.#folder.logs }
  }
}
