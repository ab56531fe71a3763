/**
 * Runs the work of this machine: what the servers say is here is started, what they say no more of is stopped, and what became of
 * it is told. Tasks go on over a restart of the agent, which finds them again by what it keeps on disk.
 */
import { join } from 'node:path'
import type { Assigned, Feed } from '../../domains/allocations/feed-model.ts'
import type { LogOrigin } from '../../domains/allocations/log-model.ts'
import { isClientTerminal, type ClientReport } from '../../domains/allocations/model.ts'
import { isEveryNodeType } from '../../domains/evaluations/job-type-model.ts'
import { delay, Pause } from '../../lib/async.ts'
import { textOf } from '../../lib/errors.ts'
import type { AskServer } from '../../rpc/agent-contract.ts'
import { killWith } from '../drivers/exec-process.ts'
import { allocationMark } from '../drivers/supervised-process.ts'
import type { HeldFolder } from '../storage.ts'
import { AllocationRunner, type AllocationHost } from './allocation-runner.ts'
import { Canaries } from './canaries.ts'
import { Ends } from './ends.ts'
import { LostContact, type LostContactOptions } from './lost-contact.ts'
import { Reports } from './reports.ts'
import { indexInLog, SeenLog } from './seen-log.ts'
import { WorkServers } from './servers.ts'
import { AllocationFolder } from './task-folders.ts'
import { TemplateData } from './templates/template-data.ts'

/** Between two questions that failed; twice as long each time. A server that is new is asked at once. */
const retryMs = { first: 250, max: 5_000 } as const
const pollMs = 100
/** Last reports of an agent that stops its tasks have this long. */
export const farewellMs = 2_000

export type RunnerOptions = Omit<AllocationHost, 'onChange' | 'data' | 'untilOver'> &
  Pick<LostContactOptions, 'contact'> & {
    /** Absolute: holds the folders of allocations. */
    readonly folder: string
    readonly ask: AskServer
    /** Allocations that ended, whose files are kept for a look. */
    readonly endedMax: number
    /** Tasks that are to end with the agent have this long. */
    readonly endMsMax: number
  }

export class Runner {
  readonly #options: RunnerOptions
  readonly #servers: WorkServers
  readonly #reports: Reports
  readonly #data: TemplateData
  readonly #held = new Map<string, AllocationRunner>()
  /** Those that servers said of that they do not know them, while the list has them, or there is none yet. */
  readonly #unknown = new Set<string>()
  /** The last list that was believed. Null: there was none. */
  #listed: ReadonlyMap<string, number> | null = null
  readonly #ends: Ends
  readonly #contact: LostContact
  readonly #canaries: Canaries
  readonly #stopping = new AbortController()
  readonly #pause: Pause
  readonly #seen: SeenLog
  /** Their state could not be read, and servers have not said yet whether they are to run. */
  #lost = new Set<string>()
  #tag = ''

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#servers = new WorkServers(options.ask)
    this.#seen = new SeenLog({ ...options, what: 'what is to run here' })
    this.#data = new TemplateData({ ...options, list: this.#seen })
    this.#pause = new Pause(options.clock)
    this.#ends = new Ends((id) => this.#held.get(id)?.isSettled ?? true)
    this.#contact = new LostContact({ ...options, held: () => this.#held.values() })
    this.#canaries = new Canaries({
      ...options,
      servers: this.#servers,
      held: () => this.#held.values(),
    })
    this.#reports = new Reports({
      ...options,
      servers: this.#servers,
      reportOf: (id) => this.#held.get(id)?.report ?? null,
      onTaken: (report, isKnown) => this.#taken(report, isKnown),
    })
  }

  /** Finds again what runs. Resolves once it is known; rejects where the disk cannot be read. */
  async start(): Promise<void> {
    const { store } = this.#options
    const log = await store.loadLog()
    let index = log?.beginsAt ?? 0
    for (const kept of await store.load()) {
      this.#hold(kept.assigned.id, { kept })
      // An answer of a server that has not seen these yet must not end them.
      index = Math.max(index, indexIn(log, kept.assigned))
    }
    this.#seen.begin(index, log)
    this.#lost = new Set(store.lost)
    for (const runner of this.#held.values()) await runner.start()
    const live = [...this.#held.values()].filter(({ isOver }) => !isOver)
    this.#options.registrations.sweep(live.map(({ id }) => id))
    if (this.#held.size > 0) {
      this.#options.log.info('allocations of before are looked after again', {
        count: this.#held.size,
      })
    }
    this.#reports.start()
    this.#contact.start()
    this.#canaries.start()
    void this.#run()
  }

  /** A server takes questions again. */
  wake(): void {
    this.#pause.end()
    this.#reports.wake()
    this.#data.wake()
  }

  /** Allocations that have not ended. */
  get liveCount(): number {
    return [...this.#held.values()].filter(({ isOver }) => !isOver).length
  }

  /** Of the allocations that have not ended, with what servers count of the disk for each. */
  get heldFolders(): readonly HeldFolder[] {
    return [...this.#held.values()]
      .filter(({ isOver }) => !isOver)
      .map(({ folder, assigned }) => ({ path: folder.path, shareMb: assigned.resources.diskMb }))
  }

  /** Null: there is none here. */
  find(id: string): AllocationRunner | null {
    return this.#held.get(id) ?? null
  }

  /** Until what a drain moves away has ended here and servers know of it, or after `msMax`. */
  untilDrained(ignoresSystemJobs: boolean, msMax: number): Promise<void> {
    return this.#untilAll(
      ({ isOver, isReported, assigned }) =>
        (isOver && isReported) || (ignoresSystemJobs && isEveryNodeType(assigned.jobType)),
      msMax,
    )
  }

  /** Ends all tasks, and tells of it where a server takes it. */
  async stopTasks(): Promise<void> {
    this.#stopping.abort()
    this.#pause.end()
    for (const runner of this.#held.values()) runner.stop()
    // Whatever still runs then is left running.
    await this.#untilAll(({ isOver }) => isOver, this.#options.endMsMax)
    await this.#untilAll(({ isReported }) => isReported, farewellMs)
  }

  /** Tasks run on. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#pause.end()
    this.#data.stop()
    this.#contact.stop()
    this.#canaries.stop()
    await this.#reports.stop()
    for (const runner of this.#held.values()) await runner.release()
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { log } = this.#options
    const { signal } = this.#stopping
    let waitMs: number = retryMs.first
    while (!signal.aborted) {
      try {
        const feed = await this.#servers.feed({ index: this.#seen.index, tag: this.#tag })
        if (!signal.aborted) await this.#follow(feed)
        waitMs = retryMs.first
      } catch (error) {
        log.debug('the servers do not say what is to run here', { error: textOf(error) })
        await this.#pause.wait(waitMs, signal)
        waitMs = Math.min(retryMs.max, 2 * waitMs)
      }
    }
  }

  async #follow({ index, log, tag, allocations }: Feed): Promise<void> {
    // A cluster that was just begun lists nothing: what ran before is not to end before its state is restored.
    const isOther = this.#seen.isOther({ index, log, isUsed: allocations.length > 0 })
    if (isOther) {
      this.#options.log.warn('another cluster says what is to run here', {
        cluster: log?.cluster ?? '',
        before: this.#seen.log?.cluster ?? '',
      })
    }
    if (log !== undefined) await this.#keepLog(log)
    const listed = new Map(allocations)
    this.#listed = listed
    for (const [id, runner] of this.#held) if (!listed.has(id)) runner.stop()
    const news = allocations.filter(([id, modifyIndex]) => {
      const held = this.#held.get(id)
      if (isOther || held?.assigned.allocModifyIndex !== modifyIndex) return true
      // The agent ended before it had read what this cluster says of it.
      const { state } = held.assigned
      return log !== undefined && state !== undefined && state.cluster !== log.cluster
    })
    await this.#read(news.map(([id]) => id))
    await this.#endLost(listed)
    // What a server lists was not reported as ended, whatever this agent thought.
    for (const [id] of allocations) {
      if (this.#held.get(id)?.isOver === true) this.#reports.again(id)
    }
    this.#seen.took({ index, log })
    for (const id of this.#unknown) this.#reports.again(id)
    this.#unknown.clear()
    this.#tag = tag
    await this.#sweep(listed)
  }

  /** What is wanted of them takes up its tasks; of the others nobody else would end the processes. */
  async #endLost(listed: ReadonlyMap<string, number>): Promise<void> {
    for (const id of this.#lost) {
      const desired = this.#held.get(id)?.assigned.desiredStatus
      // A server lists it, and could not say more of it yet.
      if (desired === undefined && listed.has(id)) continue
      this.#lost.delete(id)
      if (desired !== 'run') await killWith(`${allocationMark}=${id}`)
      if (!this.#held.has(id)) await this.#options.store.remove(id)
    }
  }

  /** Before anything of it is followed, so that an agent that ends now compares no index of it with one of another. */
  async #keepLog(log: LogOrigin): Promise<void> {
    const { log: before } = this.#seen
    const isKept = before?.cluster === log.cluster
    if (isKept && (log.beginsAt === undefined || log.beginsAt === before.beginsAt)) return
    await this.#options.store.saveLog(log).catch((error: unknown) => {
      this.#options.log.error('it is not kept of which cluster the work is', {
        error: textOf(error),
      })
    })
  }

  async #read(ids: readonly string[]): Promise<void> {
    for await (const allocations of this.#servers.read(ids, this.#stopping.signal)) {
      for (const assigned of allocations) this.#assign(assigned)
    }
  }

  #assign(assigned: Assigned): void {
    const held = this.#held.get(assigned.id)
    if (held !== undefined) {
      held.update(assigned)
      // After a time without servers they want to hear again what they knew.
      this.#reports.again(assigned.id)
      return
    }
    const runner = this.#hold(assigned.id, { assigned })
    if (assigned.desiredStatus !== 'run') runner.stop()
    void runner.start()
  }

  #hold(id: string, from: ConstructorParameters<typeof AllocationRunner>[2]): AllocationRunner {
    const onChange = () => {
      this.#reports.add(id)
      this.#ends.look()
    }
    const untilOver = (ids: readonly string[]) => this.#ends.until(ids)
    const host = { ...this.#options, data: this.#data, onChange, untilOver }
    const folder = new AllocationFolder(this.#options.folder, id)
    const runner = new AllocationRunner(host, folder, from)
    this.#held.set(id, runner)
    return runner
  }

  #taken({ id, clientStatus }: ClientReport, isKnown: boolean): void {
    const runner = this.#held.get(id)
    if (runner === undefined) return
    // It may be another cluster that does not know it: a list ends what is listed no more, once that is believed.
    if (!isKnown && this.#listed?.has(id) !== false) {
      this.#unknown.add(id)
      return
    }
    if (!isKnown || isClientTerminal({ clientStatus })) void runner.reported()
  }

  /** Of what ended, and is listed no more, the newest are kept. */
  async #sweep(listed: ReadonlyMap<string, number>): Promise<void> {
    const { endedMax, store, log } = this.#options
    const ended = [...this.#held.values()]
      .filter(({ id, isOver, isReported }) => isOver && isReported && !listed.has(id))
      .sort((left, right) => right.endedMs - left.endedMs)
    for (const runner of ended.slice(endedMax)) {
      const { id, folder } = runner
      await runner.release()
      this.#held.delete(id)
      this.#reports.forget(id)
      await store.remove(id)
      await folder.remove().catch((error: unknown) => {
        log.warn('the folder of an allocation is left', { id, error: textOf(error) })
      })
    }
  }

  /** Or after `msMax`. */
  async #untilAll(are: (runner: AllocationRunner) => boolean, msMax: number): Promise<void> {
    const { clock } = this.#options
    const untilMs = clock.monotonicMs() + msMax
    while (clock.monotonicMs() < untilMs && ![...this.#held.values()].every(are)) {
      await delay(clock, pollMs)
    }
  }
}

/** How far the log was seen when a server told of it; 0: that was another log. */
function indexIn(log: LogOrigin | null, { state, allocModifyIndex }: Assigned): number {
  // Told by a server of an earlier version, which knows of no beginning of a successor.
  if (state === undefined) return log?.beginsAt === undefined ? allocModifyIndex : 0
  return log === null ? state.index : indexInLog(log, state.cluster, state.index)
}

/** In the data folder of an agent. */
export function workFolders(dataFolder: string): {
  readonly allocations: string
  readonly state: string
} {
  return {
    allocations: join(dataFolder, 'allocations'),
    state: join(dataFolder, 'allocation-state'),
  }
}
