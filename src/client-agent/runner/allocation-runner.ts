/**
 * One allocation on this machine: the loop around its machine. It runs what the machine says, keeps what is needed to go on after
 * a restart of the agent, and tells of each change.
 *
 * Before a driver starts a task, the disk knows that it does: so a task whose agent was killed then is looked for, not started twice.
 */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import type { ClientReport } from '../../domains/allocations/model.ts'
import type { Task } from '../../domains/jobs/task-model.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import { codeOf, textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { Driver, Handle, StartedTask } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import {
  isOver,
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
import type { NodeFacts, Variables } from './environment.ts'
import { healthRulesOf, judged, type Health } from './health.ts'
import { LogRotation } from './log-rotation.ts'
import type { Registrations } from './registrations.ts'
import { taskServices, type TaskService } from './task-services.ts'
import { setUpTask, toStart, variablesOfTask, type SetupOf } from './task-setup.ts'
import type { KeptAllocation, StateStore } from './state-store.ts'
import type { AllocationFolder } from './task-folders.ts'
import type { EventSeed } from './task-events.ts'
import type { TaskInput } from './task.ts'

const interrupt = 'SIGINT'
/** Between two looks at the checks that its health waits for. */
const checksEveryMs = 500
const timerMsMax = 2 ** 31 - 1

export type AllocationHost = {
  readonly drivers: Drivers
  readonly store: StateStore
  readonly facts: NodeFacts
  readonly registrations: Registrations
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** There is something to report. */
  readonly onChange: (id: string) => void
}

type Started = { handle: Handle; readonly task: StartedTask }

export class AllocationRunner {
  readonly folder: AllocationFolder
  readonly #host: AllocationHost
  readonly #plan: AllocationPlan
  readonly #sinceMs: number
  readonly #started = new Map<string, Started>()
  readonly #starting = new Map<string, AbortController>()
  readonly #rotation: LogRotation
  #assigned: Assigned
  #machine: AllocationMachine
  #health: Health
  #isReported: boolean
  #timer: Timer | null = null
  /** Since when its checks pass; null: they do not. */
  #passingMs: number | null = null
  #saving: Promise<void> = Promise.resolve()
  #isSaveDue = false
  /** Handles of before this process, until their tasks are found. */
  #handles: ReadonlyMap<string, Handle>
  #isReleased = false

  /** `kept`: what an earlier process of the agent left of it. */
  constructor(
    host: AllocationHost,
    folder: AllocationFolder,
    from: { readonly assigned: Assigned } | { readonly kept: KeptAllocation },
  ) {
    const kept = 'kept' in from ? from.kept : null
    this.#host = host
    this.folder = folder
    this.#assigned = 'kept' in from ? from.kept.assigned : from.assigned
    this.#plan = planOf(this.#assigned.jobType, this.#assigned.group)
    this.#sinceMs = kept?.sinceMs ?? host.clock.wallMs()
    this.#health = kept?.health ?? null
    this.#isReported = kept?.isReported ?? false
    this.#machine =
      kept === null
        ? newAllocation(this.#plan, this.#sinceMs)
        : { tasks: kept.tasks.map(({ machine }) => machine), isStopped: kept.isStopped }
    this.#handles = new Map(
      kept?.tasks.flatMap(({ handle }, at): [string, Handle][] =>
        handle === null ? [] : [[this.#plan[at]?.name ?? '', handle]],
      ),
    )
    this.#rotation = new LogRotation(host, folder, this.#assigned.group.Tasks)
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
    for (const { name } of this.#plan) {
      await this.#goOn(name).catch((error: unknown) => {
        const { event } = refusalOf(error)
        this.#take(input(name, { type: 'refused', event, canRetry: false }))
      })
    }
    this.#handles = new Map()
    this.#take({ type: 'begin' })
  }

  /** What its server says of it now. Its tasks stay as they are: another version of them is another allocation. */
  update(assigned: Assigned): void {
    const names = assigned.group.Tasks.map(({ Name }) => Name)
    const isSame = names.join('/') === this.#plan.map(({ name }) => name).join('/')
    this.#assigned = isSame ? assigned : { ...assigned, group: this.#assigned.group }
    if (assigned.desiredStatus !== 'run') this.stop()
    else this.#changed()
  }

  stop(): void {
    if (!this.#machine.isStopped) this.#take({ type: 'stop' })
  }

  /** A server knows that it is over. */
  reported(): Promise<void> {
    this.#isReported = true
    return this.#save()
  }

  /** Lets go of its tasks, which run on. Resolves once the disk knows all of it. */
  async release(): Promise<void> {
    this.#isReleased = true
    this.#timer?.cancel()
    this.#rotation.stop()
    for (const { task } of this.#started.values()) task.release()
    await this.#save()
  }

  /** What an earlier process of the agent had under way. */
  async #goOn(name: string): Promise<void> {
    const machine = this.#machine.tasks[this.#plan.findIndex((task) => task.name === name)]
    const task = this.#taskOf(name)
    if (machine === undefined || task === null) return
    const { phase } = machine
    const handle = this.#handles.get(name)
    const driver = this.#host.drivers.known(task.Driver)
    if (phase.type === 'running' || phase.type === 'delaying' || phase.type === 'ending') {
      if (handle === undefined || driver === null) {
        const reason = 'the agent has lost sight of the task'
        this.#take(input(name, { type: 'exited', exit: { type: 'unknown', reason } }))
        return
      }
      this.#watch(name, driver.recover(await toStart(this.#setupOf(task)), handle))
      return
    }
    if (phase.type !== 'starting') return
    const found = (await driver?.find(await toStart(this.#setupOf(task)))) ?? null
    if (found === null) return this.#startTask(name)
    this.#watch(name, found)
    this.#take(input(name, { type: 'started' }))
  }

  #take(given: AllocationInput): void {
    if (this.#isReleased) return
    const { clock, random } = this.#host
    const at = { nowMs: clock.wallMs(), chance: random.next() }
    const { machine, effects } = stepAllocation(this.#machine, this.#plan, given, at)
    this.#machine = machine
    this.#changed()
    for (const effect of effects) this.#run(effect)
  }

  #run({ task, type }: AllocationEffect): void {
    switch (type) {
      case 'start':
        void this.#startTask(task)
        break
      case 'abortStart':
        this.#starting.get(task)?.abort()
        break
      case 'interrupt':
        this.#interrupt(task)
        break
      case 'kill':
        this.#started.get(task)?.task.kill()
        break
    }
  }

  /** Never rejects. */
  async #startTask(name: string): Promise<void> {
    const aborting = new AbortController()
    this.#starting.set(name, aborting)
    try {
      await this.#save()
      const started = await this.#startBy(name, aborting.signal)
      this.#watch(name, started)
      this.#take(input(name, { type: 'started' }))
    } catch (error) {
      const { event, canRetry } = refusalOf(error)
      this.#host.log.info('a task did not start', { allocation: this.id, task: name })
      this.#take(input(name, { type: 'refused', event, canRetry }))
    } finally {
      this.#starting.delete(name)
    }
  }

  async #startBy(name: string, signal: AbortSignal): Promise<StartedTask> {
    const task = this.#taskOf(name)
    if (task === null) throw new SetupFailure(`the group has no task ${name}`)
    const toStart = await setUpTask(this.#setupOf(task)).catch((error: unknown) => {
      throw new SetupFailure(textOf(error))
    })
    const driver = this.#driverOf(task)
    return driver.start(toStart, signal)
  }

  #driverOf({ Driver: name }: Task): Driver {
    const driver = this.#host.drivers.enabled(name)
    if (driver !== null) return driver
    throw new SetupFailure(`this agent has no driver ${JSON.stringify(name)}, or it is not enabled`)
  }

  #watch(name: string, task: StartedTask): void {
    const started = { handle: task.handle, task }
    this.#started.set(name, started)
    void task.ended.then((exit) => {
      if (this.#started.get(name) === started) this.#started.delete(name)
      this.#take(input(name, { type: 'exited', exit }))
    })
  }

  #interrupt(name: string): void {
    const task = this.#taskOf(name)
    const started = this.#started.get(name)
    if (task === null || started === undefined) return
    const signal = task.KillSignal === '' ? interrupt : task.KillSignal
    try {
      started.task.signal(signal)
    } catch (error) {
      this.#host.log.warn('a task cannot be asked to end, and is killed', {
        allocation: this.id,
        task: name,
        error: textOf(error),
      })
      started.task.kill()
    }
  }

  #changed(): void {
    const services = this.#services()
    this.#host.registrations.keep(this.id, services)
    this.#wake(this.#judge(services))
    void this.#save()
    if (this.isOver) this.#rotation.stop()
    else this.#rotation.start()
    this.#host.onChange(this.id)
  }

  /** What the machine's tasks offer now. */
  #services(): readonly TaskService[] {
    const { group } = this.#assigned
    if (![group, ...group.Tasks].some(({ Services }) => Services.length > 0)) return []
    const { facts, log } = this.#host
    const isUp = (name: string): boolean => {
      const at = this.#plan.findIndex((task) => task.name === name)
      return this.#machine.tasks[at]?.phase.type === 'running'
    }
    const variablesOf = (name: string): Variables => {
      const task = this.#taskOf(name)
      return task === null ? new Map() : variablesOfTask(this.#setupOf(task))
    }
    try {
      return taskServices({ assigned: this.#assigned, address: facts.address, isUp, variablesOf })
    } catch (error) {
      log.warn('services of an allocation cannot be registered', {
        allocation: this.id,
        error: textOf(error),
      })
      return []
    }
  }

  /** Returns when to look again; null: nothing is to be seen. */
  #judge(services: readonly TaskService[]): number | null {
    const rules = healthRulesOf(this.#assigned)
    if (rules === null || this.#health !== null || this.#machine.isStopped) return null
    const nowMs = this.#host.clock.wallMs()
    const isPassing = !rules.byChecks || this.#host.registrations.isPassing(services)
    this.#passingMs = isPassing ? (this.#passingMs ?? nowMs) : null
    const times = { sinceMs: this.#sinceMs, passingMs: this.#passingMs, nowMs }
    const { health, dueMs } = judged(this.#machine, this.#plan, rules, times)
    this.#health = health
    const hasChecks = rules.byChecks && services.some(({ checks }) => checks.length > 0)
    return dueMs !== null && hasChecks ? Math.min(dueMs, nowMs + checksEveryMs) : dueMs
  }

  #wake(judgeMs: number | null): void {
    this.#timer?.cancel()
    this.#timer = null
    if (this.#isReleased) return
    const due = [nextDueMs(this.#machine), judgeMs].flatMap((ms) => ms ?? [])
    if (due.length === 0) return
    const { clock } = this.#host
    const waitMs = Math.min(timerMsMax, Math.max(0, Math.min(...due) - clock.wallMs()))
    this.#timer = clock.setTimer(Math.ceil(waitMs), () => this.#lookAgain())
  }

  /** Nothing is written where nothing changed. */
  #lookAgain(): void {
    const dueMs = nextDueMs(this.#machine)
    if (dueMs !== null && dueMs <= this.#host.clock.wallMs()) {
      this.#take({ type: 'elapsed' })
      return
    }
    const judgeMs = this.#judge(this.#services())
    if (this.#health === null) this.#wake(judgeMs)
    else this.#changed()
  }

  #taskOf(name: string): Task | null {
    return this.#assigned.group.Tasks.find((task) => task.Name === name) ?? null
  }

  #setupOf(task: Task): SetupOf {
    return { assigned: this.#assigned, task, facts: this.#host.facts, folder: this.folder }
  }

  /** Resolves once the disk knows what is so now. Writes that wait become one. */
  #save(): Promise<void> {
    if (this.#isSaveDue) return this.#saving
    this.#isSaveDue = true
    this.#saving = this.#saving.then(async () => {
      this.#isSaveDue = false
      await this.#host.store.save(this.#kept()).catch((error: unknown) => {
        this.#host.log.error('the state of an allocation is not kept', {
          allocation: this.id,
          error: textOf(error),
        })
      })
    })
    return this.#saving
  }

  #kept(): KeptAllocation {
    return {
      version: 1,
      assigned: this.#assigned,
      sinceMs: this.#sinceMs,
      isStopped: this.#machine.isStopped,
      tasks: this.#machine.tasks.map((machine, at) => {
        const name = this.#plan[at]?.name ?? ''
        const handle = this.#started.get(name)?.handle ?? this.#handles.get(name) ?? null
        return { machine, handle }
      }),
      health: this.#health,
      isReported: this.#isReported,
    }
  }
}

/** Before the driver had a word. */
class SetupFailure extends Error {}

function refusalOf(error: unknown): { readonly event: EventSeed; readonly canRetry: boolean } {
  const type = error instanceof SetupFailure ? 'Setup Failure' : 'Driver Failure'
  return { event: { type, text: textOf(error) }, canRetry: codeOf(error) === 'unavailable' }
}

function input(task: string, of: TaskInput): AllocationInput {
  return { type: 'task', task, input: of }
}
