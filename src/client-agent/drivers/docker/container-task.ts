/**
 * A container as a task: its output is copied while it runs, its end is waited for, and it is removed once all of it is known. A
 * daemon that does not answer, or is gone for a while, leaves it running as far as the agent knows.
 */
import { constants } from 'node:os'
import { join } from 'node:path'
import { deadlineOf, delay, within } from '../../../lib/async.ts'
import type { Clock } from '../../../lib/clock.ts'
import { codeOf, textOf } from '../../../lib/errors.ts'
import type { Logger } from '../../../lib/log.ts'
import type { Exit, Handle, StartedTask, TaskToStart } from '../driver.ts'
import { signalNamed } from '../signals.ts'
import { Container, parsed } from './answers.ts'
import { usageOf } from './container-usage.ts'
import type { Engine } from './engine.ts'
import { readNote, writeNote, type Note } from './exit-note.ts'
import { copyLastLogs } from './last-logs.ts'
import { copyLogs, type LogCopyOf } from './log-copy.ts'

/** One question for the end of a container; then it is looked at, and waited for again. */
const waitMs = 60_000
const retryMs = { first: 250, max: 5_000 } as const
/** What it wrote goes with it. */
const removeMs = 60_000
/** What asks a container to end, where its image says nothing. */
const stopSignalDefault = 'SIGTERM'

export type ContainerTaskOptions = {
  readonly engine: Engine
  readonly clock: Clock
  readonly log: Logger
}

export class ContainerTask implements StartedTask {
  readonly handle: Handle
  readonly ended: Promise<Exit>
  readonly #options: ContainerTaskOptions
  readonly #id: string
  readonly #logs: LogCopyOf
  readonly #note: string
  readonly #released = new AbortController()
  readonly #over = new AbortController()
  #stopSignal = stopSignalDefault
  #tty: boolean | null = null
  #isKilling = false

  constructor(task: TaskToStart, id: string, options: ContainerTaskOptions) {
    this.#options = options
    this.#id = id
    this.handle = { type: 'docker', containerId: id }
    const { stdout, stderr, runFolder } = task
    const { engine } = options
    this.#logs = { engine, id, stdout, stderr, cursor: join(runFolder, 'logged') }
    this.#note = join(runFolder, 'exit')
    this.ended = this.#watch()
  }

  get killSignal(): string {
    return this.#stopSignal
  }

  signal(name: string): void {
    // That of the image may be one that only Docker has a name for.
    const signal = name === this.#stopSignal ? name : signalNamed(name)
    void this.#kill(signal).catch((error: unknown) => {
      this.#options.log.warn('a container cannot be sent a signal', {
        container: this.#id,
        signal,
        error: textOf(error),
      })
    })
  }

  kill(): void {
    if (this.#isKilling) return
    this.#isKilling = true
    void this.#killUntilGone()
  }

  release(): void {
    this.#released.abort()
  }

  readonly usage = () => usageOf(this.#options.engine, this.#id)

  /** Never rejects. */
  async #watch(): Promise<Exit> {
    const copying = this.#follow()
    const note = await this.#untilExited()
    this.#over.abort()
    await copying
    if (this.#released.signal.aborted) return new Promise(() => {})
    if (note === null) return { type: 'unknown', reason: 'the container is gone' }
    const outputLost = await this.#lastLogs()
    if (this.#released.signal.aborted) return new Promise(() => {})
    await this.#remove(note)
    return { ...exitOf(note), ...(outputLost !== null && { outputLost }) }
  }

  /** Null: it is gone, and so is how it ended. */
  async #untilExited(): Promise<Note | null> {
    const { signal } = this.#released
    let pauseMs: number = retryMs.first
    let hasWaited = false
    while (!signal.aborted) {
      try {
        const { State } = await this.#inspect()
        if (isOver(State.Status)) return noteOf(this.#id, State)
        // It was to have ended.
        if (hasWaited) await delay(this.#options.clock, pauseMs, signal)
        hasWaited = await this.#wait(signal)
        pauseMs = retryMs.first
      } catch (error) {
        if (codeOf(error) === 'not_found') return readNote(this.#note, this.#id)
        this.#options.log.debug('Docker does not say how a container is', {
          container: this.#id,
          error: textOf(error),
        })
        await delay(this.#options.clock, pauseMs, signal)
        pauseMs = Math.min(retryMs.max, 2 * pauseMs)
      }
    }
    return null
  }

  async #inspect(): Promise<Container> {
    const { engine } = this.#options
    const path = `/containers/${this.#id}/json`
    const container = parsed(Container, await engine.ask({ method: 'GET', path }))
    const { Tty = false, StopSignal = '' } = container.Config
    this.#tty = Tty
    if (StopSignal !== '') this.#stopSignal = StopSignal
    return container
  }

  /** Until it ends, or for a while: false. */
  async #wait(signal: AbortSignal): Promise<boolean> {
    const { clock, engine } = this.#options
    const deadline = deadlineOf(clock, waitMs, signal)
    try {
      await engine.ask({
        method: 'POST',
        path: `/containers/${this.#id}/wait`,
        query: { condition: 'not-running' },
        timeoutMs: 2 * waitMs,
        signal: deadline.signal,
      })
      return true
    } catch (error) {
      if (deadline.isLate) return false
      throw error
    } finally {
      deadline.cancel()
    }
  }

  /** Never rejects. */
  async #follow(): Promise<void> {
    const { clock, log } = this.#options
    const signal = AbortSignal.any([this.#released.signal, this.#over.signal])
    let pauseMs: number = retryMs.first
    while (!signal.aborted) {
      try {
        const tty = this.#tty ?? (await this.#inspect()).Config.Tty ?? false
        await copyLogs(this.#logs, { tty, follow: true, signal })
        pauseMs = retryMs.first
      } catch (error) {
        if (signal.aborted) return
        log.debug('the output of a container is not followed', { error: textOf(error) })
      }
      await delay(clock, pauseMs, signal)
      pauseMs = Math.min(retryMs.max, 2 * pauseMs)
    }
  }

  /** What was not followed to its end. Null: nothing of it is lost. Never rejects. */
  async #lastLogs(): Promise<string | null> {
    const { clock, log } = this.#options
    const { signal } = this.#released
    const lost = await copyLastLogs(this.#logs, { tty: this.#tty ?? false, clock, signal })
    if (lost === null) return null
    log.warn('the last output of a container is lost', { container: this.#id, error: lost })
    return `The end of the output may be lost: ${lost}`
  }

  /** Never rejects: what is left is removed later. */
  async #remove(note: Note): Promise<void> {
    const { engine, log } = this.#options
    try {
      await writeNote(this.#note, note)
      await removeContainer(engine, this.#id)
    } catch (error) {
      log.warn('a container that ended is left', { container: this.#id, error: textOf(error) })
    }
  }

  async #kill(signal: string): Promise<void> {
    const path = `/containers/${this.#id}/kill`
    try {
      await this.#options.engine.ask({ method: 'POST', path, query: { signal } })
    } catch (error) {
      // It runs no more.
      if (!['conflict', 'not_found'].includes(codeOf(error))) throw error
    }
  }

  /** Never rejects. */
  async #killUntilGone(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#released
    const over = this.#over.signal
    let pauseMs: number = retryMs.first
    while (!signal.aborted && !over.aborted) {
      try {
        await this.#kill('SIGKILL')
        await within(this.ended, clock, pauseMs)
      } catch (error) {
        log.warn('a container cannot be killed', { container: this.#id, error: textOf(error) })
        await delay(clock, pauseMs, over)
      }
      pauseMs = Math.min(retryMs.max, 2 * pauseMs)
    }
  }
}

/** With what it wrote. Where it is gone already, that is well. */
export async function removeContainer(engine: Engine, id: string): Promise<void> {
  try {
    const query = { force: 'true', v: 'true' }
    const path = `/containers/${id}`
    await engine.ask({ method: 'DELETE', path, query, timeoutMs: removeMs })
  } catch (error) {
    // Another removal is under way.
    if (!['conflict', 'not_found'].includes(codeOf(error))) throw error
  }
}

type KnownExit = Extract<Exit, { readonly type: 'known' }>

function isOver(status: string): boolean {
  return status === 'exited' || status === 'dead'
}

function noteOf(id: string, { ExitCode, OOMKilled, Error: error }: Container['State']): Note {
  return { id, code: ExitCode, oomKilled: OOMKilled === true, error: (error ?? '').slice(0, 500) }
}

function exitOf({ code, oomKilled, error }: Note): KnownExit {
  const number = code - 128
  const isSignal = Object.values(constants.signals).some((known) => known === number)
  const message = oomKilled ? 'OOM Killed' : error
  return {
    type: 'known',
    code,
    signal: isSignal ? number : 0,
    message,
    ...(oomKilled && { oomKilled: true, hasFailed: true }),
  }
}
