/**
 * A command that runs beside a task, for someone who is there: what it reads and writes goes through the agent, and it ends with them.
 * It is no child of the task, but has its folder and its environment.
 *
 * All that it starts bears a mark in its environment, by which it is found and killed at the end, also what left its process group.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { access, constants, readlink } from 'node:fs/promises'
import { constants as system } from 'node:os'
import type { Readable } from 'node:stream'
import { delay } from '../../lib/async.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import { CommandInput } from './command-input.ts'
import { processesWith, processState } from './process-identity.ts'

/** Output that is not asked for. The command waits. */
const waitingBytesMax = 256 * 1_024
const chunkBytesMax = 32 * 1_024
/** What it left running may hold its output open for so long after its end. */
const lingerMs = 1_000
/** For a terminal that is not there yet. */
const lookAgainMs = 20
const lookAgainMsMax = 1_000
const markedMax = 4_096
const killRoundsMax = 8

/** Of util-linux: makes a terminal. */
const script = '/usr/bin/script'
const stty = '/usr/bin/stty'
const shell = '/bin/sh'
export const terminalDefault = 'xterm-256color'

export const execMark = 'MUSTER_EXEC_ID'

export type Size = { readonly rows: number; readonly columns: number }

export type CommandToRun = {
  /** The program, absolute, and its arguments. */
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly folder: string
  /** It has a terminal, and no standard error of its own. */
  readonly tty: boolean
}

export type ExecOutput =
  | { readonly type: 'stdout' | 'stderr'; readonly data: Uint8Array }
  | { readonly type: 'exited'; readonly code: number }

export interface RunningCommand {
  /** Its output, and last how it ended. It waits while this is not read. */
  readonly output: AsyncIterableIterator<ExecOutput>
  /** False: it has too much to read already, and took nothing. */
  write(data: Uint8Array): boolean
  /** Resolves when there may be room again, it is over, or `ms` have passed. */
  room(ms: number): Promise<void>
  endInput(): void
  resize(size: Size): void
  /** With all that it started. */
  kill(): void
  /** Never rejects. */
  readonly ended: Promise<void>
}

/** Throws `invalid_argument` where it does not start, `not_implemented` for a terminal where there is none. */
export async function runCommand(command: CommandToRun, clock: Clock): Promise<RunningCommand> {
  const id = randomUUID()
  const env = { ...command.env, [execMark]: id }
  const { program, args } = command.tty ? await onTerminal(command) : command
  const child = spawn(program, args, {
    cwd: command.folder,
    env: command.tty ? { TERM: terminalDefault, ...env, SHELL: shell } : env,
    // A group of its own, which no signal of the agent's reaches.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => {
      const text = `${command.program} does not start: ${textOf(error)}`
      reject(new MusterError('invalid_argument', text))
    })
  })
  return new Running(child, { id, clock, tty: command.tty })
}

class Running implements RunningCommand {
  readonly output: AsyncIterableIterator<ExecOutput>
  readonly #child: ChildProcessWithoutNullStreams
  readonly #id: string
  readonly #clock: Clock
  readonly #tty: boolean
  readonly #input: CommandInput
  readonly #waiting: ExecOutput[] = []
  #waitingBytes = 0
  /** Its reader has not gone. */
  #isRead = true
  /** Of what still holds its output after its end. */
  #lingering: Timer | null = null
  #news = Promise.withResolvers<void>()
  #exit: number | null = null
  #isOver = false
  readonly #closed = Promise.withResolvers<void>()
  /** Null: not known yet. */
  #terminal: string | null = null
  #size: Size | null = null
  #resizing: Promise<void> = Promise.resolve()

  constructor(
    child: ChildProcessWithoutNullStreams,
    { id, clock, tty }: { readonly id: string; readonly clock: Clock; readonly tty: boolean },
  ) {
    this.#child = child
    this.#id = id
    this.#tty = tty
    this.#clock = clock
    this.#input = new CommandInput(child.stdin, clock)
    child.on('error', () => {})
    child.stdin.on('error', () => {})
    this.#take('stdout', child.stdout)
    this.#take('stderr', child.stderr)
    child.once('exit', (code, signal) => {
      this.#exit = signal === null ? (code ?? 0) : 128 + system.signals[signal]
      this.kill()
      this.#letGoSoon()
    })
    child.once('close', () => {
      this.#isOver = true
      this.#lingering?.cancel()
      this.#closed.resolve()
      this.#news.resolve()
    })
    this.output = this.#outputs()
  }

  get ended(): Promise<void> {
    return this.#closed.promise
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

  resize(size: Size): void {
    if (!this.#tty) return
    const isUnderWay = this.#size !== null
    this.#size = size
    if (!isUnderWay) this.#resizing = this.#resizing.then(() => this.#setSize())
  }

  kill(): void {
    const { pid } = this.#child
    if (pid !== undefined && !this.#isOver) send(-pid)
    void killMarked(this.#id)
  }

  #take(type: 'stdout' | 'stderr', stream: Readable): void {
    // What breaks off is over.
    stream.on('error', () => {})
    stream.on('data', (data: Buffer) => {
      if (!this.#isRead) return
      for (let at = 0; at < data.length; at += chunkBytesMax) {
        this.#waiting.push({ type, data: data.subarray(at, at + chunkBytesMax) })
      }
      this.#waitingBytes += data.length
      if (this.#waitingBytes > waitingBytesMax) this.#each((one) => one.pause())
      this.#news.resolve()
    })
  }

  /** What has all been read, and still does not end, is held by others. */
  #letGoSoon(): void {
    this.#lingering = this.#clock.setTimer(lingerMs, () => {
      if (this.#waitingBytes === 0) this.#each((stream) => stream.destroy())
      else this.#letGoSoon()
    })
  }

  /** Never rejects: a size is a nicety. The terminal is there a while after the command began. */
  async #setSize(): Promise<void> {
    for (let waitMs = lookAgainMs; ; waitMs = Math.min(waitMs * 2, lookAgainMsMax)) {
      this.#terminal ??= await terminalBelow(this.#child.pid ?? 0)
      if (this.#terminal !== null || this.#isOver) break
      await delay(this.#clock, waitMs)
    }
    const { rows, columns } = this.#size ?? { rows: 0, columns: 0 }
    this.#size = null
    if (this.#isOver || this.#terminal === null) return
    const words = ['-F', this.#terminal, 'rows', String(rows), 'cols', String(columns)]
    const setting = spawn(stty, words, { stdio: 'ignore' })
    await new Promise<void>((resolve) => {
      setting.once('error', () => resolve())
      setting.once('close', () => resolve())
    })
  }

  #each(act: (stream: Readable) => void): void {
    act(this.#child.stdout)
    act(this.#child.stderr)
  }

  #outputs(): AsyncIterableIterator<ExecOutput> {
    let isDone = false
    const done = { done: true, value: undefined } as const
    const outputs: AsyncIterableIterator<ExecOutput> = {
      [Symbol.asyncIterator]: () => outputs,
      next: async () => {
        for (;;) {
          const value = this.#waiting.shift()
          if (value !== undefined) {
            if (value.type !== 'exited') this.#waitingBytes -= value.data.length
            if (this.#waitingBytes <= waitingBytesMax / 2) this.#each((one) => one.resume())
            return { done: false, value }
          }
          if (isDone) return done
          if (this.#isOver) {
            isDone = true
            return { done: false, value: { type: 'exited', code: this.#exit ?? 0 } }
          }
          this.#news = Promise.withResolvers()
          await this.#news.promise
        }
      },
      return: async () => {
        isDone = true
        this.#isRead = false
        this.#waiting.length = 0
        this.#waitingBytes = 0
        // Others may write to them for long.
        this.#each((one) => one.destroy())
        this.kill()
        this.#news.resolve()
        return Promise.resolve(done)
      },
    }
    return outputs
  }
}

/** Its output is a terminal's, whose end is the end of the command. */
async function onTerminal({ program, args, env }: CommandToRun) {
  for (const tool of [script, stty]) {
    await access(tool, constants.X_OK).catch(() => {
      const text = `a terminal needs ${tool} on the node, which is not there: ask without tty`
      throw new MusterError('not_implemented', text)
    })
  }
  const own = env['SHELL'] === undefined ? 'unset SHELL; ' : `SHELL=${quoted(env['SHELL'])}; `
  const words = [program, ...args].map(quoted).join(' ')
  const line = `${own}exec ${words}`
  return {
    program: script,
    args: ['-q', '-e', '-f', '-E', 'always', '-c', line, '/dev/null'],
  }
}

/** For a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** That of the one child of `script`, which is there a moment after it; null: it is not. */
async function terminalBelow(above: number): Promise<string | null> {
  const all = await processesWith([])
  const child = all.find((pid) => processState(pid)?.parent === above)
  if (child === undefined) return null
  const terminal = await readlink(`/proc/${child}/fd/0`).catch(() => '')
  return /^\/dev\/pts\/\d+$/.test(terminal) ? terminal : null
}

/** What bears the mark. */
export function killMarked(id: string): Promise<void> {
  return killWith(`${execMark}=${id}`)
}

/** All processes that have it in their environment, as NAME=value. Until none is left: one may have made another meanwhile. */
export async function killWith(word: string): Promise<void> {
  for (let round = 0; round < killRoundsMax; round += 1) {
    const marked = await processesWith([word])
    if (marked.length === 0) return
    for (const pid of marked.slice(0, markedMax)) send(pid)
  }
}

function send(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone.
  }
}
