/** A command in a container of the stand-in, over the connection that asked for it. */
import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import type { Readable, Duplex } from 'node:stream'
import type { Container } from './container.ts'

type AskedExec = {
  readonly Cmd: readonly string[]
  readonly Env?: readonly string[]
  readonly Tty: boolean
}

export class ContainerExec {
  size = ''
  readonly #container: Container
  readonly #asked: AskedExec
  #process: ChildProcess | null = null
  #exitCode: number | null = null

  constructor(container: Container, json: unknown) {
    this.#container = container
    this.#asked = json as AskedExec
  }

  get shown() {
    const Running = this.#process !== null && this.#exitCode === null
    return { Running, ExitCode: this.#exitCode, Pid: Running ? (this.#process?.pid ?? 0) : 0 }
  }

  start(socket: Duplex): void {
    socket.write(
      'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n',
    )
    const { Cmd, Env = [], Tty } = this.#asked
    const child = this.#container.spawn(Cmd, Env)
    this.#process = child
    const { stdin, stdout, stderr } = child
    stdin?.on('error', () => {})
    if (stdin !== null) socket.pipe(stdin)
    const copied = [copy(stdout, 1, socket, Tty), copy(stderr, 2, socket, Tty)]
    child.once('error', (error) => {
      this.#exitCode = 127
      socket.end(Tty ? error.message : framed(2, Buffer.from(error.message)))
    })
    child.once('exit', (code, signal) => {
      void Promise.all(copied).then(() => {
        this.#exitCode = signal === null ? (code ?? 0) : 128 + constants.signals[signal]
        socket.end()
      })
    })
  }

  end(): void {
    this.#process?.kill('SIGKILL')
  }
}

function copy(from: Readable | null, kind: number, to: Duplex, tty: boolean): Promise<void> {
  return new Promise((resolve) => {
    from?.on('data', (data: Buffer) => to.write(tty ? data : framed(kind, data)))
    from?.once('close', resolve)
  })
}

function framed(kind: number, data: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head[0] = kind
  head.writeUInt32BE(data.length, 4)
  return Buffer.concat([head, data])
}
