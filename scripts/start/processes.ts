/**
 * The child processes of a local cluster: one per server, each with its own log file, all stopped by one call.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { open, type FileHandle } from 'node:fs/promises'

/** A little more than a server's own bound for a graceful stop. */
const STOP_MS_MAX = 12_000
/** A process with a log level above `info` does not say that it has started: then it has not ended for so long. */
const QUIET_MS = 10_000

export type ServerProcess = {
  readonly name: string
  readonly pid: number
  /** `exit code 1` or `signal SIGKILL`; null while it runs. */
  ended(): string | null
}

type Child = {
  readonly child: ChildProcess
  readonly process: ServerProcess
  readonly logFile: string
  /** Of the log, before the process wrote to it. */
  readonly logStart: number
  readonly sinceMs: number
}

export class ServerProcesses {
  readonly #children = new Map<string, Child>()
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
      const logStart = (await log.stat()).size
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
      const sinceMs = performance.now()
      this.#children.set(name, { child, process, logFile, logStart, sinceMs })
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

  /**
   * Whether all run and have their ports, by what each one says in its log: who answers at a port may be a process of somebody
   * else, while ours is still on its way to the error that the port is taken.
   */
  async allStarted(): Promise<boolean> {
    const said = await Promise.all([...this.#children.values()].map(hasStarted))
    return said.every(Boolean) && this.running().length === this.#children.size
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

async function hasStarted({ logFile, logStart, sinceMs }: Child): Promise<boolean> {
  const log = await open(logFile)
  try {
    const text = await textFrom(log, logStart)
    if (/^\S+ \[INFO\] [^:]+: started: |"@message":"started"/m.test(text)) return true
    const isQuiet = !/^\S+ \[INFO\] |"@message":"starting"/m.test(text)
    return isQuiet && performance.now() - sinceMs >= QUIET_MS
  } finally {
    await log.close()
  }
}

async function textFrom(file: FileHandle, start: number): Promise<string> {
  const { size } = await file.stat()
  const bytes = Buffer.alloc(Math.max(0, size - start))
  const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
  return bytes.toString('utf8', 0, bytesRead)
}
