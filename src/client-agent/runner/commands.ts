/** Commands that run beside tasks of this agent, for those who ask it. */
import { randomUUID } from 'node:crypto'
import type { CommandInput, CommandOutput } from '../../domains/tasks/services.ts'
import { onAbort } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import type { RunningCommand } from '../drivers/exec-process.ts'
import { joinedOutput } from './joined-output.ts'

/** At a time. */
export const commandsMax = 32
/** A command that reads nothing is waited for so long, then the caller asks again. */
const roomMs = 2_000

type Session = { readonly allocation: string; readonly running: RunningCommand }

export class Commands {
  readonly #clock: Clock
  readonly #open = new Map<string, Session>()
  #starting = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Throws `overloaded` at the bound. The command ends with the signal, or when its reader goes. */
  async run(
    allocation: string,
    start: () => Promise<RunningCommand>,
    signal: AbortSignal,
  ): Promise<AsyncIterable<CommandOutput>> {
    if (this.#open.size + this.#starting >= commandsMax) {
      const text = `${commandsMax} commands run at this agent, which is the most`
      throw new MusterError('overloaded', text)
    }
    this.#starting += 1
    try {
      const running = await start()
      const session = randomUUID()
      this.#open.set(session, { allocation, running })
      const stopListening = onAbort(signal, () => void running.output.return?.())
      const output = joinedOutput(running.output, this.#clock)
      return outputsOf(session, output, () => {
        this.#open.delete(session)
        stopListening()
      })
    } finally {
      this.#starting -= 1
    }
  }

  async input({ allocation, session, data, ends, size }: CommandInput): Promise<boolean> {
    const open = this.#open.get(session)
    if (open?.allocation !== allocation) {
      throw new MusterError('not_found', 'the command has ended')
    }
    const { running } = open
    if (data !== undefined && !running.write(data)) {
      await running.room(roomMs)
      if (!running.write(data)) return false
    }
    if (ends === true) running.endInput()
    if (size !== undefined) running.resize(size)
    return true
  }
}

/** No generator: one that is never begun would leave the command running. */
function outputsOf(
  session: string,
  output: RunningCommand['output'],
  onEnd: () => void,
): AsyncIterableIterator<CommandOutput> {
  let isNamed = false
  const outputs: AsyncIterableIterator<CommandOutput> = {
    [Symbol.asyncIterator]: () => outputs,
    async next() {
      if (!isNamed) {
        isNamed = true
        return { done: false, value: { type: 'session', session } }
      }
      const result = await output.next()
      if (result.done === true) onEnd()
      return result
    },
    async return() {
      onEnd()
      await output.return?.()
      return { done: true, value: undefined }
    },
  }
  return outputs
}
