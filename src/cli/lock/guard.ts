/** The owner's side of the watchdog: starts it, tells it what to end and when, hears what it did. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { MusterError } from '../../lib/errors.ts'
import type { Until } from './lease-keeper.ts'
import type { Order, Word } from './watchdog.ts'

export class Guard {
  readonly #process: ChildProcess
  readonly #exited: Promise<void>
  readonly #fired = Promise.withResolvers<void>()
  readonly #gone = Promise.withResolvers<void>()
  #stopping = false
  #hasFired = false

  private constructor(process: ChildProcess) {
    this.#process = process
    this.#exited = new Promise((resolve) => {
      // Not at its exit: what it said last may still be on its way.
      process.once('close', () => resolve())
      process.once('error', () => resolve())
    })
    void this.#exited.then(() => {
      if (!this.#stopping) this.#gone.resolve()
    })
    // A writer to a guard that died learns of it by its end.
    process.stdin?.on('error', () => {})
  }

  /** `words` start this program as the watchdog. Resolves once it listens. */
  static async start([program, ...words]: readonly [string, ...string[]]): Promise<Guard> {
    // In a session of its own, so that what is typed at the terminal does not reach it.
    const process = spawn(program, words, {
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
      // It asks no server, and needs no token.
      env: {},
    })
    const guard = new Guard(process)
    await new Promise<void>((resolve, reject) => {
      const failed = () => reject(new MusterError('unavailable', 'the watchdog does not start'))
      void guard.#exited.then(failed)
      if (process.stdout === null) return
      createInterface({ input: process.stdout }).on('line', (line) => {
        if (line === ('ready' satisfies Word)) resolve()
        else guard.#hear()
      })
    })
    return guard
  }

  /** Resolves once it has told the group to end, or killed it. */
  get fired(): Promise<void> {
    return this.#fired.promise
  }

  get hasFired(): boolean {
    return this.#hasFired
  }

  /** Resolves when it ended without being told to. */
  get gone(): Promise<void> {
    return this.#gone.promise
  }

  guard(group: number, graceMs: number, until: Until): void {
    this.#tell({ type: 'guard', group, graceMs, ...until })
  }

  until(until: Until): void {
    this.#tell({ type: 'until', ...until })
  }

  /** Only when there is nothing left to guard. Resolves once all that it did is known. */
  async stop(): Promise<void> {
    if (!this.#stopping) {
      this.#stopping = true
      this.#tell({ type: 'done' })
      this.#process.stdin?.end()
    }
    await this.#exited
  }

  #hear(): void {
    this.#hasFired = true
    this.#fired.resolve()
  }

  #tell(order: Order): void {
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`)
  }
}
