/** A command in a process group of its own, so that all it starts can be ended with it. */
import { spawn } from 'node:child_process'
import { delay } from '../../lib/async.ts'
import { systemClock } from '../../lib/clock.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import { programOf } from '../program.ts'
import type { Terminal } from '../verb.ts'
import { signalGroup } from './watchdog.ts'

const pollMs = 20
/** What SIGKILL leaves is dead, and at most waits for its parent to reap it. */
const goneMsMax = 1_000

export type Command = {
  readonly words: readonly string[]
  /** The words are a line for the user's shell, rather than a program and its arguments. */
  readonly shell: boolean
  readonly stdin: 'ignore' | 'inherit'
  /** Beside the environment of this process. */
  readonly env: Readonly<Record<string, string>>
}

export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export class ProcessGroup {
  /** Also the id of its first process. */
  readonly id: number
  /** Of the first process. */
  readonly ended: Promise<Ended>

  private constructor(id: number, ended: Promise<Ended>) {
    this.id = id
    this.ended = ended
  }

  /** Throws `invalid_argument` when it cannot be started. */
  static async start(command: Command, terminal: Terminal): Promise<ProcessGroup> {
    const { file, args } = programOf(command, terminal)
    const child = spawn(file, args, {
      stdio: [command.stdin, 'inherit', 'inherit'],
      env: { ...process.env, ...command.env },
      detached: true,
    })
    const ended = new Promise<Ended>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
    })
    if (child.pid !== undefined) return new ProcessGroup(child.pid, ended)
    const reason = await new Promise<Error>((resolve) => {
      child.once('error', resolve)
    })
    throw new MusterError('invalid_argument', `the command does not start: ${textOf(reason)}`)
  }

  signal(signal: NodeJS.Signals): void {
    signalGroup(this.id, signal)
  }

  /** Waits for the first process, and ends what it left behind: SIGTERM, then SIGKILL. Resolves when no process is left. */
  async endRest(graceMs: number): Promise<void> {
    await this.ended
    if (!signalGroup(this.id, 'SIGTERM')) return
    for (let waitedMs = 0; waitedMs < graceMs + goneMsMax; waitedMs += pollMs) {
      if (waitedMs >= graceMs) signalGroup(this.id, 'SIGKILL')
      if (!signalGroup(this.id, 0)) return
      await delay(systemClock, pollMs)
    }
  }
}
