/** What tasks take of the machine: processor time between two looks, and memory now, of all processes of a task together. */
import type { ResourceUsage, TaskUsage } from '../../domains/tasks/usage-model.ts'
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { StartedTask } from '../drivers/driver.ts'
import { memoryOf, treeOf, type ProcessTable, type ProcessTables } from './process-table.ts'

/** Between two looks of which a share is told. */
const betweenMs = { min: 400, max: 60_000 } as const
/** Of one task whose memory is looked at. The others count for its processor time alone. */
const pidsMax = 256
const tasksKnownMax = 4_096

type Look = { readonly atMs: number; readonly byPid: ReadonlyMap<number, Times> }
type Times = { readonly userMs: number; readonly systemMs: number }

export class TaskUsages {
  readonly #clock: Clock
  readonly #tables: ProcessTables
  readonly #mhz: number
  /** By the pid of what leads a task. */
  readonly #last = new LruMap<number, Look>(tasksKnownMax)

  /** `mhz`: of one processor. */
  constructor(clock: Clock, tables: ProcessTables, mhz: number) {
    this.#clock = clock
    this.#tables = tables
    this.#mhz = mhz
  }

  /** Of tasks that run. */
  async of(tasks: readonly StartedTask[]): Promise<readonly TaskUsage[]> {
    const leaders = tasks.flatMap(({ handle }) => (handle.type === 'process' ? [handle.pid] : []))
    const table = await this.#tables.read()
    const isKnown = leaders.every((leader) => this.#isRecent(this.#last.get(leader), table.atMs))
    if (isKnown) return this.#all(tasks, table)
    for (const leader of leaders) this.#last.set(leader, lookAt(table, leader))
    await delay(this.#clock, betweenMs.min)
    return this.#all(tasks, await this.#tables.read())
  }

  #isRecent(look: Look | undefined, nowMs: number): boolean {
    if (look === undefined) return false
    const ageMs = nowMs - look.atMs
    return ageMs >= betweenMs.min && ageMs <= betweenMs.max
  }

  #all(tasks: readonly StartedTask[], table: ProcessTable): Promise<readonly TaskUsage[]> {
    return Promise.all(
      tasks.map(({ handle, usage }) =>
        handle.type === 'process' ? this.#one(handle.pid, table) : this.#told(usage),
      ),
    )
  }

  /** Of a driver without processes, or whose daemon knows of them. What it does not say is nothing. */
  async #told(ask: StartedTask['usage']): Promise<TaskUsage> {
    const told = await ask?.().catch(() => undefined)
    const timeMs = this.#clock.wallMs()
    if (told === undefined) return { timeMs, usage: { ...noTime, ...none }, pids: [] }
    return { timeMs, usage: { ...told, mhz: (told.percent / 100) * this.#mhz }, pids: [] }
  }

  async #one(leader: number, table: ProcessTable): Promise<TaskUsage> {
    const before = this.#last.get(leader) ?? { atMs: table.atMs, byPid: new Map() }
    const now = lookAt(table, leader)
    this.#last.set(leader, now)
    const elapsedMs = Math.max(1, now.atMs - before.atMs)
    const sums = { userMs: 0, systemMs: 0, rssBytes: 0, swapBytes: 0 }
    const byPid: [number, ResourceUsage][] = []
    for (const [pid, { userMs, systemMs }] of now.byPid) {
      const earlier = before.byPid.get(pid) ?? { userMs: 0, systemMs: 0 }
      const used = {
        userMs: Math.max(0, userMs - earlier.userMs),
        systemMs: Math.max(0, systemMs - earlier.systemMs),
      }
      const memory = byPid.length < pidsMax ? await memoryOf(pid) : none
      sums.userMs += used.userMs
      sums.systemMs += used.systemMs
      sums.rssBytes += memory.rssBytes
      sums.swapBytes += memory.swapBytes
      if (byPid.length < pidsMax) byPid.push([pid, this.#usage({ ...used, ...memory }, elapsedMs)])
    }
    return { timeMs: this.#clock.wallMs(), usage: this.#usage(sums, elapsedMs), pids: byPid }
  }

  #usage(
    used: Times & { readonly rssBytes: number; readonly swapBytes: number },
    elapsedMs: number,
  ): ResourceUsage {
    const userPercent = (100 * used.userMs) / elapsedMs
    const systemPercent = (100 * used.systemMs) / elapsedMs
    const percent = userPercent + systemPercent
    const { rssBytes, swapBytes } = used
    const mhz = (percent / 100) * this.#mhz
    return { userPercent, systemPercent, percent, mhz, rssBytes, swapBytes }
  }
}

const none = { rssBytes: 0, swapBytes: 0 }
const noTime = { userPercent: 0, systemPercent: 0, percent: 0, mhz: 0 }

function lookAt(table: ProcessTable, leader: number): Look {
  return {
    atMs: table.atMs,
    byPid: new Map(treeOf(table, leader).map((process) => [process.pid, process])),
  }
}
