/** One server of a cluster under test: a real process that can be stopped in every way, and its log file. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type ServerPorts = {
  readonly http: number
  readonly rpc: number
  readonly gossip: number
  readonly ops: number
}

export type ServerSpec = {
  readonly name: string
  /** Configuration, data and log go here. */
  readonly folder: string
  readonly ports: ServerPorts
  /** Beside name, data_dir, bind_addr and ports, which the process sets itself. */
  readonly config: Readonly<Record<string, unknown>>
  /** What is started; this project's own program unless said. */
  readonly program?: string
  /** Gets the process id of every child, one a line, for whoever must clean up after us. */
  readonly pidFile: string
}

/** This project's own program: these sources, or the bundle of them that the gate made, which starts in half the time. */
export const ownProgram =
  process.env['MUSTER_TEST_PROGRAM'] ?? new URL('../../bin/muster', import.meta.url).pathname

/**
 * What to spawn for a program to run as its users run it. tap puts a loader into NODE_OPTIONS of every child, which makes a
 * server's start a fifth slower and reports nothing that is used here.
 */
export function withoutLoader(program: string, args: readonly string[]): [string, string[]] {
  return ['env', ['-u', 'NODE_OPTIONS', program, ...args]]
}

export class ServerProcess {
  readonly spec: ServerSpec
  readonly configFile: string
  readonly dataFolder: string
  readonly logFile: string
  #child: ChildProcess | null = null
  #exited: Promise<unknown> = Promise.resolve()
  #stopping = false
  #crash: string | null = null

  constructor(spec: ServerSpec) {
    this.spec = spec
    this.configFile = join(spec.folder, `${spec.name}.json`)
    this.dataFolder = join(spec.folder, spec.name)
    this.logFile = join(spec.folder, `${spec.name}.log`)
  }

  get running(): boolean {
    return this.#child !== null
  }

  /** How the process ended on its own, which it never should; null as long as it did not. */
  get crash(): string | null {
    return this.#crash
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** Starts the process; that it answers is for others to wait for. */
  async start(): Promise<void> {
    if (this.#child !== null) throw new Error(`${this.spec.name} is running`)
    const { name, ports, config } = this.spec
    const whole = {
      name,
      data_dir: this.dataFolder,
      bind_addr: '127.0.0.1',
      log_level: 'info',
      ports,
      ...config,
    }
    await writeFile(this.configFile, JSON.stringify(whole, null, 2))
    const log = await open(this.logFile, 'a')
    const [command, args] = withoutLoader(this.spec.program ?? ownProgram, [
      'agent',
      '-config',
      this.configFile,
    ])
    const child = spawn(command, args, { stdio: ['ignore', log.fd, log.fd] })
    this.#child = child
    this.#stopping = false
    this.#exited = once(child, 'exit').then(([code, signal]) => {
      if (this.#child === child) this.#child = null
      const how = `code ${code}, signal ${signal}`
      if (!this.#stopping) this.#crash = how
      return appendFile(this.logFile, `--- exited: ${how}\n`)
    })
    await log.close()
    await appendFile(this.spec.pidFile, `${child.pid}\n`)
  }

  /** SIGKILL: what was not on disk is gone. */
  async kill(): Promise<void> {
    this.#stopping = true
    this.#child?.kill('SIGKILL')
    await this.#exited
  }

  /** SIGTERM, and waits until the process has ended. */
  async terminate(): Promise<void> {
    this.#stopping = true
    this.#child?.kill('SIGTERM')
    await this.#exited
  }

  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  /** An empty disk: only while the process is down. */
  async wipe(): Promise<void> {
    if (this.running) throw new Error(`${this.spec.name} is running`)
    await rm(this.dataFolder, { recursive: true, force: true })
  }

  async logTail(lines: number): Promise<string> {
    const text = await readFile(this.logFile, 'utf8').catch(() => '')
    return text.split('\n').slice(-lines).join('\n')
  }
}
