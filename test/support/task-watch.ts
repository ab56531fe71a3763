/**
 * Tasks of jobs under test, as the machine has them: each says once that it began, and /proc says whether its process lives. What
 * servers and agents believe of them is none of it.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Cluster } from './cluster.ts'
import { eventuallyTrue } from './eventually.ts'

const second = 1_000_000_000
const everyMs = 100

export type Began = {
  readonly pid: number
  readonly allocation: string
  /** `job.group[index]` */
  readonly name: string
  /** Of `TaskOptions`. */
  readonly version: string
  /** That of its allocation, below its agent's data. */
  readonly folder: string
}

/** Two processes of one name at a time. */
export type Overlap = {
  readonly name: string
  readonly allocations: readonly string[]
  readonly ms: number
}

export type TaskOptions = {
  /** It does not end when it is asked to, but only when it is killed. */
  readonly stubborn?: boolean
  readonly killSeconds?: number
  /** Makes another version of the job. */
  readonly version?: string
  readonly memoryMb?: number
}

export class TaskWatch {
  readonly #file: string
  readonly #pids: string
  readonly #alive = new Map<number, Began>()
  /** Of names that have two processes: since when, and which. */
  readonly #twice = new Map<string, { readonly sinceMs: number; readonly ids: readonly string[] }>()
  readonly #overlaps: Overlap[] = []
  readonly #killed = new Set<string>()
  #read = 0
  #isStopped = false
  #running: Promise<void> = Promise.resolve()

  /** `pids`: the guard's file, so that no task outlives a killed test. */
  constructor(folder: string, pids: string) {
    this.#file = join(folder, 'tasks-began')
    this.#pids = pids
    appendFileSync(this.#file, '')
  }

  /** One look after the other, until `stop`. */
  start(): void {
    this.#running = this.#run()
  }

  /** Looks no more, and kills what lives. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
    await eventuallyTrue('no task lives', () => {
      this.look()
      for (const { pid } of this.#alive.values()) killGroup(pid)
      return this.#alive.size === 0
    })
  }

  /** A task for a job. It runs until it is stopped. */
  task({ stubborn = false, killSeconds = 2, version = '0', memoryMb = 16 }: TaskOptions = {}) {
    const script = [
      stubborn ? "trap '' INT" : ':',
      'echo $$ >> "$PIDS"',
      'echo "$$ $NOMAD_ALLOC_ID $NOMAD_ALLOC_NAME $VERSION $NOMAD_ALLOC_DIR" >> "$BEGAN"',
      'exec sleep 3600',
    ]
    return {
      Name: 'main',
      Driver: 'raw_exec',
      Config: { command: '/bin/sh', args: ['-c', script.join('\n')] },
      Env: { BEGAN: this.#file, PIDS: this.#pids, VERSION: version },
      KillTimeout: killSeconds * second,
      Resources: { CPU: 20, MemoryMB: memoryMb },
      LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
    }
  }

  /** All that ever began, in order. */
  began(): readonly Began[] {
    return readFileSync(this.#file, 'utf8').split('\n').slice(0, -1).map(beganOf)
  }

  /** Now. */
  alive(): readonly Began[] {
    this.look()
    return [...this.#alive.values()]
  }

  /** Also those that go on. */
  overlaps(): readonly Overlap[] {
    this.look()
    const now = performance.now()
    const open = [...this.#twice].map(([name, { sinceMs, ids }]) => ({
      name,
      allocations: ids,
      ms: now - sinceMs,
    }))
    return [...this.#overlaps, ...open]
  }

  /** Of the agent with this data. They are not counted as begun twice when they begin again. */
  kill(dataFolder: string): void {
    for (const { pid, allocation, folder } of this.alive()) {
      if (!folder.startsWith(`${dataFolder}/`)) continue
      this.#killed.add(allocation)
      killGroup(pid)
    }
  }

  /** Of one allocation no more than one process ever began: an agent that lost sight of a task would begin another. */
  beganTwice(): readonly string[] {
    const seen = new Set<string>()
    return this.began().flatMap(({ allocation }) => {
      if (this.#killed.has(allocation)) return []
      if (seen.has(allocation)) return [allocation]
      seen.add(allocation)
      return []
    })
  }

  look(): void {
    const began = this.began()
    for (const one of began.slice(this.#read)) this.#alive.set(one.pid, one)
    this.#read = began.length
    for (const one of this.#alive.values()) if (!lives(one)) this.#alive.delete(one.pid)
    const byName = Map.groupBy(this.#alive.values(), ({ name }) => name)
    const now = performance.now()
    for (const [name, { sinceMs, ids }] of this.#twice) {
      if ((byName.get(name)?.length ?? 0) > 1) continue
      this.#twice.delete(name)
      this.#overlaps.push({ name, allocations: ids, ms: now - sinceMs })
    }
    for (const [name, some] of byName) {
      if (some.length < 2 || this.#twice.has(name)) continue
      this.#twice.set(name, { sinceMs: now, ids: some.map(({ allocation }) => allocation) })
    }
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.look()
      await delay(everyMs)
    }
  }
}

/** Stopped with the test. To be called before agents are started: then it is stopped after them, and they begin nothing anew. */
export function watchTasks(t: Test, cluster: Cluster): TaskWatch {
  const watch = new TaskWatch(cluster.folder, join(cluster.folder, 'pids'))
  t.teardown(() => watch.stop())
  watch.start()
  return watch
}

/** Of an agent whose tasks these are. */
export const runsTasks = { plugin: { raw_exec: { config: { enabled: true } } } } as const

function beganOf(line: string): Began {
  const [pid = '', allocation = '', name = '', version = '', folder = ''] = line.split(' ')
  return { pid: Number(pid), allocation, name, version, folder }
}

/** Another process may have its pid by now. */
function lives({ pid, allocation }: Began): boolean {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
    // It is empty while a shell becomes the program that it starts, and of one that ended and was not waited for.
    if (environment === '') return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return environment.includes(`MUSTER_ALLOC_ID=${allocation}`)
  } catch {
    return false
  }
}

/** With the shell above it. */
function killGroup(pid: number): void {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2])
    process.kill(-group, 'SIGKILL')
  } catch {
    // It ended meanwhile.
  }
}
