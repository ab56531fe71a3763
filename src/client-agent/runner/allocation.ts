/**
 * The life of an allocation's tasks together, as a machine over values: whose turn it is to start, who is ended because of whom,
 * and what that makes of the allocation. It ends only when each of its tasks did, so that nothing is put in its place before.
 */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import type { ClientReport, TaskState } from '../../domains/allocations/model.ts'
import type { TaskGroup } from '../../domains/jobs/model.ts'
import type { Task } from '../../domains/jobs/task-model.ts'
import { isBatchType } from '../../domains/evaluations/job-type-model.ts'
import {
  dueMsOf,
  isComingBack,
  isGivenUp,
  newTask,
  stateOf,
  stepTask,
  type At,
  type Stop,
  type TaskEffect,
  type TaskInput,
  type TaskMachine,
  type TaskRules,
} from './task.ts'
import { leaderDead, mainTasksDead, siblingFailed, type EventSeed } from './task-events.ts'
import { nsPerMs } from '../../lib/duration.ts'

type Turn = 'prestart' | 'main' | 'poststart' | 'poststop'

export type TaskPlan = {
  readonly name: string
  readonly turn: Turn
  /** It runs as long as the others do that are none. */
  readonly isSidecar: boolean
  readonly isLeader: boolean
  readonly rules: TaskRules
  /** Of its group: before the first of all tasks end, besides the delay of its own. */
  readonly groupDelayMs: number
}

/** What does not change of it. */
export type AllocationPlan = readonly TaskPlan[]

export type AllocationMachine = {
  /** In the order of the plan. */
  readonly tasks: readonly TaskMachine[]
  /** It is to end: nothing of it starts any more but what follows the end. */
  readonly isStopped: boolean
}

export type AllocationInput =
  | { readonly type: 'begin' }
  | { readonly type: 'task'; readonly task: string; readonly input: TaskInput }
  /** It is not wanted any more. */
  | { readonly type: 'stop' }
  /** The agent ends its tasks for this reason. */
  | { readonly type: 'giveUp'; readonly stop: Stop }
  /** All its tasks run once more, in their turns, also those that ended. Nothing follows where `canRunAgain` is false. */
  | { readonly type: 'again'; readonly because: EventSeed }
  | { readonly type: 'elapsed' }

export function inputOf(task: string, input: TaskInput): AllocationInput {
  return { type: 'task', task, input }
}

/** It would have tasks begin, and is of no use to those that have not. */
export function isForBegun(input: AllocationInput): boolean {
  return input.type === 'again' || (input.type === 'task' && input.input.type === 'told')
}

export type AllocationEffect = { readonly task: string; readonly type: TaskEffect }

export type AllocationStep = {
  readonly machine: AllocationMachine
  readonly effects: readonly AllocationEffect[]
}

export type PlanOf = Pick<Assigned, 'group' | 'skipsDelay'> & { readonly jobType: string }

/** `killTimeoutMsMax`: no task has longer to end. */
export function planOf(
  { jobType, group, skipsDelay }: PlanOf,
  killTimeoutMsMax: number,
): AllocationPlan {
  const groupDelayMs = Math.max(0, group.ShutdownDelay ?? 0) / nsPerMs
  return group.Tasks.map((task) => {
    const turn = turnOf(task)
    const isSidecar = task.Lifecycle?.Sidecar ?? false
    const { Attempts, Interval, Delay, Mode } = task.RestartPolicy
    return {
      name: task.Name,
      turn,
      isSidecar,
      isLeader: task.Leader,
      rules: {
        attempts: Attempts,
        intervalMs: Interval / nsPerMs,
        delayMs: Delay / nsPerMs,
        mode: Mode === 'delay' ? 'delay' : 'fail',
        endsBySuccess: isBatchType(jobType) || (turn !== 'main' && !isSidecar),
        killTimeoutMs: Math.min(killTimeoutMsMax, task.KillTimeout / nsPerMs),
        shutdownDelayMs: Math.max(0, task.ShutdownDelay) / nsPerMs,
        skipsDelay: skipsDelay === true,
      },
      groupDelayMs,
    }
  })
}

/** The group of another version, with its tasks in the order of the plan; null: they are others. */
export function groupInOrder(group: TaskGroup, plan: AllocationPlan): TaskGroup | null {
  const tasks = new Map(group.Tasks.map((task) => [task.Name, task]))
  const Tasks = plan.flatMap(({ name }) => tasks.get(name) ?? [])
  return Tasks.length === plan.length && tasks.size === plan.length ? { ...group, Tasks } : null
}

function turnOf({ Lifecycle }: Task): Turn {
  const hook = Lifecycle?.Hook
  return hook === 'prestart' || hook === 'poststart' || hook === 'poststop' ? hook : 'main'
}

export function newAllocation(plan: AllocationPlan, wallMs: number): AllocationMachine {
  return { tasks: plan.map(() => newTask(wallMs)), isStopped: false }
}

export function stepAllocation(
  machine: AllocationMachine,
  plan: AllocationPlan,
  input: AllocationInput,
  at: At,
): AllocationStep {
  const steps = new Steps(machine, plan, at)
  switch (input.type) {
    case 'task':
      steps.step(input.task, input.input)
      break
    case 'elapsed':
      for (const { name } of plan) steps.step(name, { type: 'elapsed' })
      break
    case 'stop':
      steps.isStopped = true
      break
    case 'giveUp':
      steps.giveUp({ type: 'stop', stop: input.stop })
      break
    case 'again':
      steps.putBack(input.because)
      break
    case 'begin':
      break
  }
  steps.settle()
  return steps
}

/** When `elapsed` is due; null: it waits for no time. */
export function nextDueMs({ tasks }: AllocationMachine): number | null {
  const due = tasks.flatMap((task) => dueMsOf(task) ?? [])
  return due.length === 0 ? null : Math.min(...due)
}

export function isOver({ tasks }: AllocationMachine): boolean {
  return tasks.every(isDead)
}

/** No task of it ever ran. */
export function isUnbegun({ tasks }: AllocationMachine): boolean {
  return tasks.every(({ startedMs }) => startedMs === null)
}

/** It does not end, and has not ended. */
export function canRunAgain(machine: AllocationMachine, plan: AllocationPlan): boolean {
  return !new Steps(machine, plan, { nowMs: 0, wallMs: 0, random: 0 }).isEnding && !isOver(machine)
}

export function taskStates({ tasks }: AllocationMachine, plan: AllocationPlan): TaskState[] {
  return tasks.map((task, at) => ({
    task: plan[at]?.name ?? '',
    state: stateOf(task),
    failed: task.failed,
    restarts: task.restarts,
    startedMs: wholeMs(task.startedMs),
    finishedMs: wholeMs(task.finishedMs),
    lastRestartMs: wholeMs(task.lastRestartMs),
    events: [...task.events],
  }))
}

/** `failed` and `complete` only when nothing of it runs. */
export function statusOf(
  machine: AllocationMachine,
): Pick<ClientReport, 'clientStatus' | 'clientDescription'> {
  const { tasks } = machine
  if (isOver(machine)) {
    return tasks.some(({ failed }) => failed)
      ? { clientStatus: 'failed', clientDescription: 'Failed tasks' }
      : { clientStatus: 'complete', clientDescription: 'All tasks have completed' }
  }
  return tasks.some((task) => stateOf(task) === 'running')
    ? { clientStatus: 'running', clientDescription: 'Tasks are running' }
    : { clientStatus: 'pending', clientDescription: 'No tasks are running' }
}

function wholeMs(ms: number | null): number | null {
  return ms === null ? null : Math.trunc(ms)
}

function isDead({ phase }: TaskMachine): boolean {
  return phase.type === 'dead'
}

/** In this run of all tasks. */
function hasStarted({ startedMs, again }: TaskMachine): boolean {
  return startedMs !== null && again !== true
}

type Member = { readonly plan: TaskPlan; readonly at: number }

class Steps implements AllocationStep {
  readonly effects: AllocationEffect[] = []
  isStopped: boolean
  readonly #tasks: TaskMachine[]
  readonly #members: readonly Member[]
  readonly #now: At
  /** Nothing was ended before, so that clients may still come. */
  readonly #isFirstEnd: boolean

  constructor({ tasks, isStopped }: AllocationMachine, plan: AllocationPlan, now: At) {
    this.#tasks = [...tasks]
    this.#members = plan.map((task, at) => ({ plan: task, at }))
    this.#now = now
    this.isStopped = isStopped
    this.#isFirstEnd = !isStopped && !tasks.some(isGivenUp)
  }

  get machine(): AllocationMachine {
    return { tasks: this.#tasks, isStopped: this.isStopped }
  }

  step(name: string, input: TaskInput): void {
    const member = this.#members.find(({ plan }) => plan.name === name)
    if (member !== undefined) this.#step(member, input)
  }

  /** The first to end for this reason, and so the others because of them. */
  giveUp(stop: TaskInput): void {
    for (const member of this.#firstToEnd(true)) this.#step(member, stop)
  }

  /** Those of the last turn were not begun. */
  putBack(because: EventSeed): void {
    if (this.isEnding) return
    for (const member of this.#members) {
      if (member.plan.turn !== 'poststop') this.#step(member, { type: 'again', because })
    }
  }

  /** Until nothing follows any more; each round moves a task on, and no task goes back. */
  settle(): void {
    for (const { plan } of this.#members) {
      if (plan.turn === 'prestart') this.#begin(plan.turn)
    }
    this.#endThoseThatMust()
    if (!this.isEnding) {
      if (this.#isReadyForMain()) this.#begin('main')
      if (this.#of('main').every((member) => hasStarted(this.#task(member)))) {
        this.#begin('poststart')
      }
    }
    // A start may have been refused by the machine itself, and an end may lead to another one.
    this.#endThoseThatMust()
    this.#finish()
  }

  /** A task of the last turn runs when all else is over, unless nothing ever ran. */
  #finish(): void {
    const last = this.#of('poststop')
    if (!this.#members.every((member) => last.includes(member) || this.#isDead(member))) return
    const hasRun = this.#of('main').some((member) => this.#task(member).startedMs !== null)
    for (const member of last) {
      if (hasRun) this.#step(member, { type: 'begin' })
      else this.#step(member, stopBecause(null))
    }
  }

  #begin(turn: Turn): void {
    // What ran before has ended before anything of it runs once more.
    if (this.isEnding || this.#tasks.some(isComingBack)) return
    for (const member of this.#of(turn)) this.#step(member, { type: 'begin' })
  }

  #isReadyForMain(): boolean {
    return this.#of('prestart').every((member) => {
      const { phase } = this.#task(member)
      return member.plan.isSidecar ? phase.type === 'running' : phase.type === 'dead'
    })
  }

  get isEnding(): boolean {
    return (
      this.isStopped ||
      this.#isMainOver ||
      this.#reasonToEnd() !== null ||
      this.#tasks.some(isGivenUp)
    )
  }

  /** Nothing starts any more, but what was begun and is no sidecar runs to its end. */
  get #isMainOver(): boolean {
    const main = this.#of('main')
    return main.length > 0 && main.every((member) => this.#isDead(member))
  }

  #reasonToEnd(): Stop | null {
    const failed = this.#members.find((member) => this.#task(member).failed)
    if (failed !== undefined && failed.plan.turn !== 'poststop') {
      return { because: siblingFailed(failed.plan.name), isFailure: false }
    }
    const isOver = (member: Member): boolean => this.#isDead(member)
    if (this.#members.some((member) => member.plan.isLeader && isOver(member))) {
      return { because: leaderDead, isFailure: false }
    }
    if (this.#isMainOver && !this.#members.some((member) => this.#runsToItsEnd(member))) {
      return { because: mainTasksDead, isFailure: false }
    }
    return null
  }

  /** It was begun, and the end of the main tasks is not its end. */
  #runsToItsEnd(member: Member): boolean {
    const { turn, isSidecar } = member.plan
    const { type } = this.#task(member).phase
    return turn !== 'poststop' && !isSidecar && type !== 'pending' && type !== 'dead'
  }

  #endThoseThatMust(): void {
    const reason = this.#reasonToEnd()
    if (reason === null && !this.isStopped) return
    const stop = stopBecause(reason?.because ?? null)
    const first = this.#firstToEnd(reason !== null)
    for (const member of first) this.#step(member, stop)
    // Those that had not begun are over at once.
    if (first.length > 0 && first.every((member) => this.#isDead(member))) this.#endThoseThatMust()
  }

  /**
   * Of those that still are. Whoever a leader leads ends after it, but where one of them is the reason nobody waits for the leader.
   * Sidecars serve the others until these have ended.
   */
  #firstToEnd(hasReason: boolean): readonly Member[] {
    const left = this.#members.filter(
      (member) => member.plan.turn !== 'poststop' && !this.#isDead(member),
    )
    const leaders = left.filter(({ plan }) => plan.isLeader)
    if (leaders.length > 0 && !hasReason) return leaders
    const served = left.filter(({ plan }) => plan.isLeader || !plan.isSidecar)
    return served.length > 0 ? served : left
  }

  #of(turn: Turn): readonly Member[] {
    return this.#members.filter(({ plan }) => plan.turn === turn)
  }

  #task({ at }: Member): TaskMachine {
    const task = this.#tasks[at]
    return task ?? newTask(this.#now.wallMs)
  }

  #isDead(member: Member): boolean {
    return isDead(this.#task(member))
  }

  #step(member: Member, input: TaskInput): void {
    const { plan } = member
    const { machine, effects } = stepTask(this.#task(member), this.#rulesOf(plan), input, this.#now)
    this.#tasks[member.at] = machine
    for (const type of effects) this.effects.push({ task: plan.name, type })
  }

  #rulesOf({ rules, groupDelayMs }: TaskPlan): TaskRules {
    if (!this.#isFirstEnd) return rules
    return { ...rules, shutdownDelayMs: rules.shutdownDelayMs + groupDelayMs }
  }
}

function stopBecause(because: Stop['because']): TaskInput {
  return { type: 'stop', stop: { because, isFailure: false } }
}
