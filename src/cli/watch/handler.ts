/** The command that `muster watch` runs for a change, one at a time. */
import { spawn } from 'node:child_process'
import { MusterError, textOf } from '../../lib/errors.ts'
import { lineOfJson } from '../../lib/exact-json.ts'
import type { Program } from '../program.ts'
import type { Change } from './changes.ts'

export class Handler {
  readonly #program: Program
  #signal: ((signal: NodeJS.Signals) => void) | null = null

  constructor(program: Program) {
    this.#program = program
  }

  /** Hands it the change on standard input. Resolves when it has ended well; throws `unavailable` when it has not. */
  async run({ index, shown }: Change): Promise<void> {
    const { file, args } = this.#program
    const child = spawn(file, args, {
      stdio: ['pipe', 'inherit', 'inherit'],
      // Handlers written for `consul watch` read the second.
      env: { ...process.env, MUSTER_INDEX: index, CONSUL_INDEX: index },
    })
    this.#signal = (signal) => void child.kill(signal)
    // It need not read what it is given.
    child.stdin.on('error', () => {})
    child.stdin.end(`${lineOfJson(shown)}\n`)
    const how = await new Promise<string | null>((resolve) => {
      child.once('error', (error) => resolve(`does not start: ${textOf(error)}`))
      child.once('exit', (code, signal) => {
        if (code === 0) resolve(null)
        else resolve(code === null ? `ended by ${signal}` : `ended with exit code ${code}`)
      })
    })
    this.#signal = null
    if (how !== null) throw new MusterError('unavailable', `the command ${how}`)
  }

  /** To the one that runs, if one does. */
  pass(signal: NodeJS.Signals): void {
    this.#signal?.(signal)
  }
}
