/**
 * One allocation on this machine: the loop around its machine. It runs what the machine says, keeps what is needed to go on after
 * a restart of the agent, and tells of each change.
 */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import type { ClientReport } from '../../domains/allocations/model.ts'
import { timerMsMax, type Clock, type Timer } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { Exec, StartedTask } from '../drivers/driver.ts'
import type { RunningCommand } from '../drivers/exec-process.ts'
import { signalNamed } from '../drivers/signals.ts'
import type { Drivers } from '../drivers/drivers.ts'
import {
  canRunAgain,
  groupInOrder,
  inputOf,
  isForBegun,
  isOver,
  isUnbegun,
  newAllocation,
  nextDueMs,
  planOf,
  statusOf,
  stepAllocation,
  taskStates,
  type AllocationEffect,
  type AllocationInput,
  type AllocationMachine,
  type AllocationPlan,
} from './allocation.ts'
import type { ArtifactSettings } from './artifacts/limits.ts'
import { AllocationServices } from './allocation-services.ts'
import type { NodeFacts } from './environment.ts'
import type { CheckHolders } from './check-holders.ts'
import { takeOver, waitsFor } from './heir.ts'
import { healthRulesOf, judged, type Health } from './health.ts'
import { asRead } from './kept-times.ts'
import { LogRotation } from './log-rotation.ts'
import type { Registrations } from './registrations.ts'
import { environmentOfTask, type SetupOf } from './setup-of.ts'
import { StateSaves } from './state-saves.ts'
import type { KeptAllocation, StateStore } from './state-store.ts'
import type { AllocationFolder } from './task-folders.ts'
import {
  contactLost,
  reconnected,
  restartAsked,
  restartOfAllAsked,
  signaling,
  type EventSeed,
} from './task-events.ts'
import { TaskProcesses } from './task-processes.ts'
import type { TemplateData } from './templates/template-data.ts'

/** Between two looks at the checks that its health waits for. */
const checksEveryMs = 500

export type AllocationHost = {
  readonly drivers: Drivers
  readonly store: StateStore
  readonly facts: NodeFacts
  readonly registrations: Registrations
  readonly holders: CheckHolders
  readonly data: TemplateData
  readonly artifacts: ArtifactSettings
  /** No task has longer to end. */
  readonly killTimeoutMsMax: number
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** There is something to report. */
  readonly onChange: (id: string) => void
  /** Resolves once these have ended; null: they have. */
  readonly untilOver: (ids: readonly string[]) => Promise<void> | null
}

export class AllocationRunner {
  readonly folder: AllocationFolder
  readonly #host: AllocationHost
  #plan: AllocationPlan
  /** When it, or the version of its job that it is now, came to this agent, by the monotonic clock, as all that is waited for. */
  #sinceMs: number
  readonly #processes: TaskProcesses
  readonly #rotation: LogRotation
  readonly #services: AllocationServices
  readonly #saves: StateSaves
  #assigned: Assigned
  #machine: AllocationMachine
  #health: Health
  #isReported: boolean
  #timer: Timer | null = null
  /** Since when its checks pass; null: they do not. */
  #passingMs: number | null = null
  #isReleased = false
  #hasLostContact = false
  /** For others, or what they left. */
  #isWaiting = false

  /** `kept`: what an earlier process of the agent left of it. */
  constructor(
    host: AllocationHost,
    folder: AllocationFolder,
    from: { readonly assigned: Assigned } | { readonly kept: KeptAllocation },
  ) {
    const kept = 'kept' in from ? asRead(from.kept, host.clock) : null
    this.#host = host
    this.#saves = new StateSaves(host, () => this.#kept())
    this.folder = folder
    this.#assigned = 'kept' in from ? from.kept.assigned : from.assigned
    this.#plan = this.#planOf()
    this.#sinceMs = kept?.sinceMs ?? host.clock.monotonicMs()
    this.#health = kept?.health ?? null
    this.#isReported = kept?.isReported ?? false
    this.#machine =
      kept === null
        ? newAllocation(this.#plan, host.clock.wallMs())
        : { tasks: kept.tasks.map(({ machine }) => machine), isStopped: kept.isStopped }
    const before = kept?.tasks.map(
      ({ handle, run }, at) => [this.#plan[at]?.name ?? '', { handle, run }] as const,
    )
    this.#processes = new TaskProcesses(
      {
        id: this.id,
        drivers: host.drivers,
        data: host.data,
        artifacts: host.artifacts,
        clock: host.clock,
        random: host.random,
        log: host.log,
        setupOf: (name) => this.#setupOf(name),
        save: () => this.#saves.save(),
        take: (task, input) => this.#take(inputOf(task, input)),
      },
      before === undefined ? null : new Map(before),
    )
    this.#rotation = new LogRotation(host, folder, this.#assigned.group.Tasks)
    this.#services = new AllocationServices({
      ...host,
      address: host.facts.address,
      assigned: () => this.#assigned,
      upSinceMs: (name) => this.#upSinceMs(name),
      run: (task, words) => this.#processes.script(task, words),
      onUnhealthy: (tasks, because) => {
        for (const task of tasks) this.#take(inputOf(task, { type: 'unhealthy', because }))
      },
      onRefused: (tasks, event) => this.#tell(tasks, event),
      variablesOf: (name) => {
        const setup = this.#setupOf(name)
        return setup === null ? new Map() : environmentOfTask(setup).variables
      },
    })
  }

  get id(): string {
    return this.#assigned.id
  }

  get assigned(): Assigned {
    return this.#assigned
  }

  /** Nothing of it runs, and nothing will. */
  get isOver(): boolean {
    return isOver(this.#machine)
  }

  /** Nothing of it is to come any more: also others that wait for it may go on. */
  get isSettled(): boolean {
    return this.isOver && !this.#isWaiting
  }

  /** When the last of it ended. */
  get endedMs(): number {
    return Math.max(0, ...this.#machine.tasks.map(({ finishedMs }) => finishedMs ?? 0))
  }

  get isReported(): boolean {
    return this.#isReported
  }

  get report(): ClientReport {
    return {
      id: this.id,
      ...statusOf(this.#machine),
      tasks: taskStates(this.#machine, this.#plan),
      health: this.#health,
    }
  }

  /** Begins, or goes on where an earlier process of the agent was. */
  async start(): Promise<void> {
    const { tasks } = this.#machine
    await this.#processes.recover(
      this.#plan.flatMap(({ name }, at) => {
        const machine = tasks[at]
        return machine === undefined ? [] : [[name, machine] as const]
      }),
    )
    const waiting = this.#host.untilOver(waitsFor(this.#assigned))
    this.#isWaiting = true
    if (waiting === null) return this.#begin()
    void waiting.then(() => this.#begin())
    this.#changed()
  }

  /** Also where it was stopped meanwhile: the one after it takes over from it. */
  async #begin(): Promise<void> {
    if (!this.#isReleased && isUnbegun(this.#machine)) {
      await takeOver(this.folder, this.#assigned, this.#host.log)
    }
    this.#isWaiting = false
    this.#take({ type: 'begin' })
  }

  /**
   * What its server says of it now. Its tasks run on: of another version of them only the rules of their restarts and their end may be
   * others, which hold from here on.
   */
  update(assigned: Assigned): void {
    const skips = assigned.skipsDelay === true && this.#assigned.skipsDelay !== true
    if (assigned.jobVersion !== this.#assigned.jobVersion) {
      // The deployment of that version waits for its word.
      this.#health = null
      this.#sinceMs = this.#host.clock.monotonicMs()
    }
    // What is known of tasks, here and on the disk, is so in the order of the first version.
    const group = groupInOrder(assigned.group, this.#plan) ?? this.#assigned.group
    this.#assigned = { ...assigned, group }
    this.#plan = this.#planOf()
    if (assigned.isUnknown === true && !this.isOver) {
      this.#tell(
        this.#plan.map(({ name }) => name),
        reconnected,
      )
    }
    if (assigned.desiredStatus === 'run') this.#changed()
    else if (skips) this.#take({ type: 'stop' })
    else this.stop()
  }

  stop(): void {
    if (!this.#machine.isStopped) this.#take({ type: 'stop' })
  }

  /** No server answered for as long as its group allows: it fails. False: it ends already. */
  lostContact(): boolean {
    if (this.#machine.isStopped || this.#hasLostContact || this.isOver) return false
    this.#hasLostContact = true
    this.#take({ type: 'giveUp', stop: { because: contactLost, isFailure: true } })
    return true
  }

  /**
   * `task` '': all that run. `all`: also those that ended, in the order of their lifecycle. Throws `not_found` for a task that it
   * has not, `conflict` where none runs.
   */
  restart(task: string, all: boolean): void {
    if (all) {
      if (!canRunAgain(this.#machine, this.#plan)) {
        throw new MusterError('conflict', 'the allocation has ended, or ends: no task runs again')
      }
      this.#take({ type: 'again', because: restartOfAllAsked })
      return
    }
    for (const name of this.#running(task)) {
      this.#take(inputOf(name, { type: 'restart', because: restartAsked }))
    }
  }

  /** The same; `invalid_argument` for what is no signal. */
  signal(task: string, signal: string): void {
    const named = signalNamed(signal)
    for (const name of this.#running(task)) {
      this.#processes.running(name)?.signal(named)
      this.#tell([name], signaling(named))
    }
  }

  /** Of one task: throws `not_found` for one that it has not. */
  runsAsAgent(task: string): boolean {
    const [name = ''] = this.#named(task)
    const driver = this.#setupOf(name)?.task.Driver ?? ''
    return this.#host.drivers.known(driver)?.runsAsAgent ?? true
  }

  /** See `TaskProcesses.exec`. */
  exec(task: string, command: Exec): Promise<RunningCommand> {
    const [name = ''] = this.#running(task)
    return this.#processes.exec(name, command)
  }

  /** Those of them that have a process. Throws `not_found` for a task that it has not. */
  running(task: string): readonly (readonly [name: string, started: StartedTask])[] {
    return this.#named(task).flatMap((name) => {
      const started = this.#processes.running(name)
      return started === null ? [] : [[name, started] as const]
    })
  }

  #running(task: string): readonly string[] {
    const names = this.#named(task).filter((name) => this.#upSinceMs(name) !== null)
    if (names.length === 0) throw new MusterError('conflict', 'Task not running')
    return names
  }

  #named(task: string): readonly string[] {
    const names = this.#plan.flatMap(({ name }) => (task === '' || name === task ? [name] : []))
    if (names.length > 0) return names
    throw new MusterError('not_found', `unknown task name ${JSON.stringify(task)}`)
  }

  /** By the monotonic clock. Null: it does not run, or is about to end. */
  #upSinceMs(name: string): number | null {
    const at = this.#plan.findIndex((task) => task.name === name)
    const task = this.#machine.tasks[at]
    return task?.phase.type === 'running' ? (task.upMs ?? null) : null
  }

  /** A server knows that it is over. */
  async reported(): Promise<void> {
    this.#isReported = true
    await this.#saves.save()
  }

  /** Lets go of its tasks, which run on. Resolves once the disk knows all of it. */
  async release(): Promise<void> {
    this.#isReleased = true
    this.#timer?.cancel()
    const isRotated = this.#rotation.stop()
    this.#services.release()
    this.#processes.release()
    await Promise.all([isRotated, this.#saves.save()])
  }

  #tell(tasks: readonly string[], event: EventSeed): void {
    for (const task of tasks) this.#take(inputOf(task, { type: 'told', event }))
  }

  #take(given: AllocationInput): void {
    if (this.#isReleased || (this.#isWaiting && isForBegun(given))) return
    const { clock, random } = this.#host
    const at = { nowMs: clock.monotonicMs(), wallMs: clock.wallMs(), random: random.next() }
    const { machine, effects } = stepAllocation(this.#machine, this.#plan, given, at)
    this.#machine = machine
    this.#changed()
    for (const effect of effects) this.#run(effect)
  }

  #run({ task, type }: AllocationEffect): void {
    switch (type) {
      case 'start':
        void this.#processes.start(task)
        break
      case 'abortStart':
        this.#processes.abortStart(task)
        break
      case 'interrupt':
        this.#processes.interrupt(task)
        break
      case 'kill':
        this.#processes.kill(task)
        break
    }
  }

  #changed(): void {
    this.#services.refresh()
    this.#wake(this.#judge())
    void this.#saves.save()
    for (const [at, task] of this.#machine.tasks.entries()) {
      if (task.phase.type === 'dead') this.#processes.forget(this.#plan[at]?.name ?? '')
    }
    if (this.isOver) this.#rotation.finish()
    else this.#rotation.start()
    this.#host.onChange(this.id)
  }

  /** Returns when to look again; null: nothing is to be seen. */
  #judge(): number | null {
    const rules = healthRulesOf(this.#assigned)
    if (rules === null || this.#health !== null || this.#machine.isStopped) return null
    const { clock } = this.#host
    const nowMs = clock.monotonicMs()
    const isPassing = !rules.byChecks || this.#services.arePassing
    this.#passingMs = isPassing ? (this.#passingMs ?? nowMs) : null
    const since = { sinceMs: this.#sinceMs, passingMs: this.#passingMs }
    const times = { ...since, nowMs, wallMs: clock.wallMs() }
    const { health, dueMs } = judged(this.#machine, this.#plan, rules, times)
    this.#health = health
    const hasChecks = rules.byChecks && this.#services.haveChecks
    return dueMs !== null && hasChecks ? Math.min(dueMs, nowMs + checksEveryMs) : dueMs
  }

  #wake(judgeMs: number | null): void {
    this.#timer?.cancel()
    this.#timer = null
    if (this.#isReleased) return
    const due = [nextDueMs(this.#machine), judgeMs].flatMap((ms) => ms ?? [])
    if (due.length === 0) return
    const { clock } = this.#host
    const waitMs = Math.min(timerMsMax, Math.max(0, Math.min(...due) - clock.monotonicMs()))
    this.#timer = clock.setTimer(waitMs, () => this.#lookAgain())
  }

  /** Nothing is written where nothing changed. */
  #lookAgain(): void {
    const dueMs = nextDueMs(this.#machine)
    if (dueMs !== null && dueMs <= this.#host.clock.monotonicMs()) {
      this.#take({ type: 'elapsed' })
      return
    }
    const judgeMs = this.#judge()
    if (this.#health === null) this.#wake(judgeMs)
    else this.#changed()
  }

  #planOf(): AllocationPlan {
    return planOf(this.#assigned, this.#host.killTimeoutMsMax)
  }

  /** Null: the group has no such task. */
  #setupOf(name: string): SetupOf | null {
    const task = this.#assigned.group.Tasks.find(({ Name }) => Name === name)
    if (task === undefined) return null
    const { facts, drivers } = this.#host
    const driver = drivers.known(task.Driver)
    return { assigned: this.#assigned, task, facts, folder: this.folder, driver }
  }

  #kept(): KeptAllocation {
    return {
      version: 1,
      assigned: this.#assigned,
      sinceMs: this.#sinceMs,
      isStopped: this.#machine.isStopped,
      tasks: this.#machine.tasks.map((machine, at) => {
        const name = this.#plan[at]?.name ?? ''
        const run = this.#processes.runOf(name)
        const handle = this.#processes.handleOf(name)
        return { machine, handle, ...(run !== undefined && { run }) }
      }),
      health: this.#health,
      isReported: this.#isReported,
    }
  }
}
