/**
 * The child processes of a local cluster: one per server, each with its own log file, all stopped by one call.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'

/** A little more than a server's own bound for a graceful stop. */
const STOP_MS_MAX = 12_000

export type ServerProcess = {
  readonly name: string
  readonly pid: number
  /** `exit code 1` or `signal SIGKILL`; null while it runs. */
  ended(): string | null
}

export class ServerProcesses {
  readonly #children = new Map<string, { child: ChildProcess; process: ServerProcess }>()
  readonly #onEnd: (process: ServerProcess, how: string) => void
  #stopping = false

  /** `onEnd` is told of every server that ends before `stop` was called. */
  constructor(onEnd: (process: ServerProcess, how: string) => void) {
    this.#onEnd = onEnd
  }

  async start(
    name: string,
    command: readonly [string, ...string[]],
    logFile: string,
  ): Promise<ServerProcess> {
    const log = await open(logFile, 'a', 0o600)
    try {
      const [program, ...args] = command
      const child = spawn(program, args, {
        stdio: ['ignore', log.fd, log.fd],
        // Its own process group: Ctrl-C in a terminal reaches every process of the group, and a server
        // would take our SIGTERM after that for a second signal and end at once.
        detached: true,
      })
      await once(child, 'spawn')
      let how: string | null = null
      const process: ServerProcess = { name, pid: child.pid ?? 0, ended: () => how }
      child.once('exit', (code, signal) => {
        how = signal === null ? `exit code ${code}` : `signal ${signal}`
        if (!this.#stopping) this.#onEnd(process, how)
      })
      this.#children.set(name, { child, process })
      return process
    } finally {
      await log.close()
    }
  }

  running(): readonly ServerProcess[] {
    return [...this.#children.values()]
      .map(({ process }) => process)
      .filter((process) => process.ended() === null)
  }

  /** Asks all to stop, kills those that do not within the bound. Resolves to the names of the killed. */
  async stop(limitMs: number = STOP_MS_MAX): Promise<readonly string[]> {
    this.#stopping = true
    const killed: string[] = []
    await Promise.all(
      [...this.#children.values()].map(async ({ child, process }) => {
        if (process.ended() !== null) return
        const exited = once(child, 'exit')
        const timer = setTimeout(() => {
          killed.push(process.name)
          child.kill('SIGKILL')
        }, limitMs)
        child.kill('SIGTERM')
        await exited
        clearTimeout(timer)
      }),
    )
    return killed
  }

  /** Ends all at once, without asking. */
  kill(): void {
    this.#stopping = true
    for (const { child } of this.#children.values()) child.kill('SIGKILL')
  }
}
