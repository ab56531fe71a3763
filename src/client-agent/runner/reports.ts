/** What became of allocations, told in batches: what changes while a report is under way is in the next one. */
import { reportsLengthMax, reportsMax } from '../../domains/allocations/feed-model.ts'
import { reportLengthMax, type ClientReport } from '../../domains/allocations/model.ts'
import { delay, Pause } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { WorkServers } from './servers.ts'

/** Changes of so long are told together. */
const gatherMs = 20
const retryMs = 1_000
/** Of brackets and commas around them. */
const slackLength = 2 * reportsMax

export type ReportsOptions = {
  readonly servers: Pick<WorkServers, 'report'>
  /** Null: there is none of that id any more. */
  readonly reportOf: (id: string) => ClientReport | null
  /** Servers took it. `isKnown`: they know of the allocation. */
  readonly onTaken: (report: ClientReport, isKnown: boolean) => void
  readonly clock: Clock
  readonly log: Logger
}

export class Reports {
  readonly #options: ReportsOptions
  readonly #due = new Set<string>()
  /** As JSON, what servers took last. */
  readonly #taken = new Map<string, string>()
  readonly #stopping = new AbortController()
  readonly #pause: Pause
  #running: Promise<void> = Promise.resolve()
  #idle = Promise.withResolvers<void>()

  constructor(options: ReportsOptions) {
    this.#options = options
    this.#pause = new Pause(options.clock)
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#idle.resolve()
    await this.#running
  }

  add(id: string): void {
    this.#due.add(id)
    this.#idle.resolve()
  }

  /** Also where servers took the same before. */
  again(id: string): void {
    this.#taken.delete(id)
    this.add(id)
  }

  /** It is held no more. */
  forget(id: string): void {
    this.#due.delete(id)
    this.#taken.delete(id)
  }

  /** There is a way to a server again. */
  wake(): void {
    this.#pause.end()
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      if (this.#due.size === 0) {
        this.#idle = Promise.withResolvers()
        await this.#idle.promise
        await delay(clock, gatherMs, signal)
        continue
      }
      const batch = this.#batch()
      if (batch.length === 0) continue
      try {
        await this.#send(batch)
      } catch (error) {
        log.debug('a report did not reach the servers', { error: textOf(error) })
        for (const { id } of batch) this.#due.add(id)
        await this.#pause.wait(retryMs, signal)
      }
    }
  }

  async #send(batch: readonly ClientReport[]): Promise<void> {
    const { servers, onTaken } = this.#options
    const { unknown } = await servers.report(batch)
    const gone = new Set(unknown)
    for (const report of batch) {
      this.#taken.set(report.id, JSON.stringify(report))
      onTaken(report, !gone.has(report.id))
    }
  }

  /** Takes what is due, as much as one call may hold. */
  #batch(): readonly ClientReport[] {
    const batch: ClientReport[] = []
    let length = slackLength
    for (const id of this.#due) {
      if (batch.length === reportsMax) break
      const whole = this.#options.reportOf(id)
      const report = whole === null ? null : shortened(whole)
      const text = report === null ? '' : JSON.stringify(report)
      if (report === null || text === this.#taken.get(id)) {
        this.#due.delete(id)
        continue
      }
      length += text.length
      if (length > reportsLengthMax) break
      this.#due.delete(id)
      batch.push(report)
    }
    return batch
  }
}

/** With fewer of the oldest events where it would be too long. */
export function shortened(report: ClientReport): ClientReport {
  let short = report
  for (let events = 8; JSON.stringify(short).length > reportLengthMax && events >= 0; events -= 2) {
    const tasks = report.tasks.map((task) => ({
      ...task,
      events: events === 0 ? [] : task.events.slice(-events),
    }))
    short = { ...report, tasks }
  }
  return short
}
