/**
 * A command in a container, for someone who is there. The daemon gives a connection that input and output go through, and ends no
 * command when that closes: so the agent kills it itself, where it may.
 */
import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../lib/clock.ts'
import { CommandInput } from '../command-input.ts'
import type { Exec } from '../driver.ts'
import {
  execMark,
  killMarked,
  type ExecOutput,
  type RunningCommand,
  type Size,
} from '../exec-process.ts'
import { Command, Created, parsed } from './answers.ts'
import type { Engine } from './engine.ts'
import { Frames, type Frame } from './frames.ts'

/** Of a command that ended without a code. */
const codeUnknown = 1

/** `container`: its id or its name. Rejects as `Engine.ask`. */
export async function runInContainer(
  engine: Engine,
  container: string,
  { words, tty }: Exec,
  clock: Clock,
): Promise<RunningCommand> {
  const mark = randomUUID()
  const created = await engine.ask({
    method: 'POST',
    path: `/containers/${container}/exec`,
    json: {
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: tty,
      Cmd: words,
      Env: [`${execMark}=${mark}`],
    },
  })
  const { Id: id } = parsed(Created, created)
  const json = { Detach: false, Tty: tty }
  const socket = await engine.converse({ method: 'POST', path: `/exec/${id}/start`, json })
  return new ContainerCommand({ engine, id, mark, socket, tty, clock })
}

type Of = {
  readonly engine: Engine
  readonly id: string
  /** In its environment. */
  readonly mark: string
  readonly socket: Duplex
  readonly tty: boolean
  readonly clock: Clock
}

class ContainerCommand implements RunningCommand {
  readonly output: AsyncIterableIterator<ExecOutput>
  readonly ended: Promise<void>
  readonly #of: Of
  readonly #input: CommandInput
  #isKilled = false

  constructor(of: Of) {
    this.#of = of
    const { socket } = of
    this.#input = new CommandInput(socket, of.clock)
    // What breaks off is over.
    socket.on('error', () => {})
    this.ended = new Promise((resolve) => socket.once('close', () => resolve()))
    const reading = this.#read()
    this.output = {
      [Symbol.asyncIterator]: () => this.output,
      next: () => reading.next(),
      // Also where it was never read.
      return: async () => {
        this.kill()
        return Promise.resolve({ done: true, value: undefined })
      },
    }
  }

  write(data: Uint8Array): boolean {
    return this.#input.write(data)
  }

  room(ms: number): Promise<void> {
    return this.#input.room(ms)
  }

  endInput(): void {
    this.#input.end()
  }

  resize({ rows, columns }: Size): void {
    const { engine, id } = this.#of
    const query = { h: String(rows), w: String(columns) }
    // A size is a nicety.
    engine.ask({ method: 'POST', path: `/exec/${id}/resize`, query }).catch(() => {})
  }

  kill(): void {
    if (this.#isKilled) return
    this.#isKilled = true
    this.#of.socket.destroy()
    // Where the agent may not, it goes on until it reads or writes.
    void killMarked(this.#of.mark)
  }

  async *#read(): AsyncGenerator<ExecOutput, undefined> {
    const { socket, tty } = this.#of
    const frames = new Frames()
    try {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        const found: readonly Frame[] = tty
          ? [{ stream: 'stdout', data: chunk }]
          : frames.take(chunk)
        for (const { stream, data } of found) yield { type: stream, data }
      }
    } catch {
      // The connection broke off: how the command ended is asked for all the same.
    }
    socket.destroy()
    yield { type: 'exited', code: await this.#exitCode() }
  }

  async #exitCode(): Promise<number> {
    const { engine, id } = this.#of
    try {
      const answer = await engine.ask({ method: 'GET', path: `/exec/${id}/json` })
      return parsed(Command, answer).ExitCode ?? codeUnknown
    } catch {
      return codeUnknown
    }
  }
}
