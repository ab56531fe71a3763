/** A container of the stand-in: a process of this machine, whose output is kept as Docker keeps it, a piece for each line. */
import { spawn, type ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import { Refusal } from './refusal.ts'

export type Mounted = {
  readonly Type: string
  readonly Source?: string
  readonly Target: string
  readonly ReadOnly?: boolean
}

/** What a client asks for, as far as the stand-in goes by it. */
export type Asked = {
  readonly Image: string
  readonly Cmd?: readonly string[]
  readonly Entrypoint?: readonly string[]
  readonly Env: readonly string[]
  readonly Labels: Readonly<Record<string, string>>
  readonly Tty: boolean
  readonly HostConfig: { readonly Mounts: readonly Mounted[] } & Readonly<Record<string, unknown>>
} & Readonly<Record<string, unknown>>

export type Piece = {
  readonly stream: 'stdout' | 'stderr'
  readonly ns: bigint
  readonly data: Buffer
}

/** What Docker keeps of a line as one piece. */
const pieceBytes = 16 * 1024

let lastNs = 0n

export class Container extends EventEmitter<{ piece: [Piece]; ended: [] }> {
  readonly id: string
  readonly name: string
  readonly asked: Asked
  readonly pieces: Piece[] = []
  status: 'created' | 'running' | 'exited' = 'created'
  exitCode = 0
  oomKilled = false
  #process: ChildProcess | null = null
  readonly #words: readonly string[]

  constructor(id: string, name: string, asked: Asked, words: readonly string[]) {
    super()
    this.setMaxListeners(0)
    this.id = id
    this.name = name
    this.asked = asked
    this.#words = words
    const missing = asked.HostConfig.Mounts.find(
      ({ Type, Source = '' }) => Type === 'bind' && !existsSync(Source),
    )
    if (missing === undefined) return
    const text = `invalid mount config for type "bind": bind source path does not exist: ${missing.Source}`
    throw new Refusal(400, text)
  }

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  async start(): Promise<void> {
    const child = this.spawn(this.#words)
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', (error) => {
        reject(new Refusal(400, `failed to create task for container: ${error.message}`))
      })
    })
    this.#process = child
    this.status = 'running'
    const closed = [this.#keep('stdout', child.stdout), this.#keep('stderr', child.stderr)]
    child.stdin?.end()
    child.once('exit', (code, signal) => {
      // The first process of a container takes all others with it.
      signalGroup(child, 'SIGKILL')
      this.exitCode = signal === null ? (code ?? 0) : 128 + constants.signals[signal]
      void Promise.all(closed).then(() => {
        this.status = 'exited'
        this.emit('ended')
      })
    })
  }

  /** A process that finds the folders of the container where they are on the machine. */
  spawn(words: readonly string[], more: readonly string[] = []): ChildProcess {
    const seen = [...this.asked.Env, ...more].map((word) => this.#onMachine(word))
    const [program = '', ...args] = words.map((word) => this.#onMachine(word))
    const env = Object.fromEntries(
      ['PATH=/usr/bin:/bin', ...seen].map((word) => {
        const at = word.indexOf('=')
        return [word.slice(0, at), word.slice(at + 1)]
      }),
    )
    return spawn(program, args, { env, cwd: '/', detached: true, stdio: 'pipe' })
  }

  signal(name: NodeJS.Signals): void {
    if (this.#process === null || this.status !== 'running') {
      throw new Refusal(409, `container ${this.id} is not running`)
    }
    if (name === 'SIGKILL') signalGroup(this.#process, name)
    else this.#process.kill(name)
  }

  /** As the kernel ends one that takes too much. */
  runOutOfMemory(): void {
    this.oomKilled = true
    this.signal('SIGKILL')
  }

  end(): void {
    if (this.#process !== null) signalGroup(this.#process, 'SIGKILL')
  }

  #keep(stream: Piece['stream'], output: Readable | null): Promise<void> {
    let rest = Buffer.alloc(0)
    let lineNs: bigint | null = null
    const keep = (data: Buffer): void => {
      if (lineNs === null) lastNs = laterThan(lastNs)
      const ns = lineNs ?? lastNs
      const piece = { stream: this.asked.Tty ? 'stdout' : stream, ns, data } as const
      // All pieces of a line have one time.
      lineNs = data.at(-1) === 10 ? null : ns
      this.pieces.push(piece)
      this.emit('piece', piece)
    }
    output?.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      for (;;) {
        const end = rest.subarray(0, pieceBytes).indexOf(10)
        if (end < 0 && rest.length < pieceBytes) break
        const length = end < 0 ? pieceBytes : end + 1
        keep(rest.subarray(0, length))
        rest = rest.subarray(length)
      }
    })
    return new Promise((resolve) => {
      output?.once('close', () => {
        if (rest.length > 0) keep(rest)
        resolve()
      })
    })
  }

  #onMachine(text: string): string {
    return this.asked.HostConfig.Mounts.reduce((written, { Type, Source = '', Target }) => {
      if (Type !== 'bind') return written
      return written.replaceAll(
        new RegExp(`(^|[\\s"'=:>])${Target}(?=[/\\s"':;]|$)`, 'g'),
        `$1${Source}`,
      )
    }, text)
  }
}

function laterThan(ns: bigint): bigint {
  const nowNs = BigInt(Date.now()) * 1_000_000n
  return nowNs > ns ? nowNs : ns + 1n
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It is gone.
  }
}
