/**
 * The life of one task, as a machine over values: what happens goes in with the time, what to do comes out. No process, file or
 * clock is known here; `allocation.ts` has several of them.
 *
 * Whatever is waited for or counted is by a clock that nobody sets; what is only shown of it has the time of day: see `At`.
 */
import { Type, type Static } from 'typebox'
import { TaskEvent } from '../../domains/allocations/model.ts'
import { assertNever } from '../../lib/assert.ts'
import type { Exit } from '../drivers/driver.ts'
import {
  killed,
  killing,
  notRestarting,
  received,
  restarting,
  setUp,
  shutdownDelay,
  started,
  terminated,
  toldByDriver,
  withTaskEvent,
  EventSeed,
} from './task-events.ts'

/** Of the delay before a restart, which is longer at random by up to this share of it. */
const restartJitter = 0.25

export type TaskRules = {
  readonly attempts: number
  readonly intervalMs: number
  readonly delayMs: number
  /** What follows when the attempts of an interval are spent: it fails, or it waits for the next interval. */
  readonly mode: 'fail' | 'delay'
  /** Exit code 0 is its end; of a service it is not. */
  readonly endsBySuccess: boolean
  readonly killTimeoutMs: number
  readonly shutdownDelayMs: number
  /** Also a delay that it is in already is over. */
  readonly skipsDelay: boolean
}

const MsOrNever = Type.Union([Type.Null(), Type.Number()])

/** Why it is ended. */
const Stop = Type.Object({
  because: Type.Union([Type.Null(), EventSeed]),
  isFailure: Type.Boolean(),
})
export type Stop = Readonly<Static<typeof Stop>>

/** It runs once more afterwards, for this reason. */
const RunsOn = Type.Enum(['restart', 'unhealthy', 'again'])
type RunsOn = Static<typeof RunsOn>

const TaskPhase = Type.Union([
  Type.Object({ type: Type.Literal('pending') }),
  /** `stop`: it is not wanted any more, or not yet, which the driver has been told. */
  Type.Object({
    type: Type.Literal('starting'),
    stop: Type.Union([Type.Null(), Type.Literal('again'), Stop]),
  }),
  Type.Object({ type: Type.Literal('running') }),
  /** For its restart. */
  Type.Object({ type: Type.Literal('waiting'), untilMs: Type.Number() }),
  /** Before it is asked to end. */
  Type.Object({ type: Type.Literal('delaying'), untilMs: Type.Number(), stop: Stop }),
  /**
   * Asked to end. `untilMs`: when it is killed; null: it was. `unhealthy`: its policy says what follows; `again`: it waits for its
   * turn then.
   */
  Type.Object({
    type: Type.Literal('ending'),
    untilMs: MsOrNever,
    stop: Type.Union([RunsOn, Stop]),
  }),
  Type.Object({ type: Type.Literal('dead') }),
])

export const TaskMachine = Type.Object({
  phase: TaskPhase,
  failed: Type.Boolean(),
  restarts: Type.Integer({ minimum: 0 }),
  /** The last time that it started, as it is shown. */
  startedMs: MsOrNever,
  /** The same by the clock that nobody sets. Absent: it never started. */
  upMs: Type.Optional(Type.Number()),
  finishedMs: MsOrNever,
  lastRestartMs: MsOrNever,
  /** It runs once more with all tasks, and has not started since. */
  again: Type.Optional(Type.Literal(true)),
  events: Type.Array(TaskEvent),
  /** Restarts since then, as the policy counts them; null: none yet. */
  interval: Type.Union([
    Type.Null(),
    Type.Object({ sinceMs: Type.Number(), count: Type.Integer({ minimum: 0 }) }),
  ]),
})
export type TaskMachine = Readonly<Static<typeof TaskMachine>>

export type TaskInput =
  | { readonly type: 'begin' }
  | { readonly type: 'started' }
  /** `event`: what it is told as. */
  | { readonly type: 'refused'; readonly event: EventSeed; readonly canRetry: boolean }
  | { readonly type: 'exited'; readonly exit: Exit }
  | { readonly type: 'stop'; readonly stop: Stop }
  /** By an operator or a template: it counts for no policy. */
  | { readonly type: 'restart'; readonly because: EventSeed }
  /** A check says that it does not work, which counts as if it had failed. */
  | { readonly type: 'unhealthy'; readonly because: EventSeed }
  /** All tasks run once more, in their turns: it ends where it runs, and waits for a `begin`. */
  | { readonly type: 'again'; readonly because: EventSeed }
  /** Something is told of it, from which nothing follows. */
  | { readonly type: 'told'; readonly event: EventSeed }
  /** What its phase waited for may be over. */
  | { readonly type: 'elapsed' }

export type TaskEffect = 'start' | 'abortStart' | 'interrupt' | 'kill'

export type At = {
  /** Of a clock that goes on alike whatever the machine's is set to: all that lasts is measured by it. */
  readonly nowMs: number
  /** The time of day, which is shown and decides nothing. */
  readonly wallMs: number
  /** From 0 to 1. */
  readonly random: number
}

export type TaskStep = { readonly machine: TaskMachine; readonly effects: readonly TaskEffect[] }

export function newTask(wallMs: number): TaskMachine {
  return {
    phase: { type: 'pending' },
    failed: false,
    restarts: 0,
    startedMs: null,
    finishedMs: null,
    lastRestartMs: null,
    events: withTaskEvent([], received, wallMs),
    interval: null,
  }
}

export function stateOf({ phase }: TaskMachine): 'pending' | 'running' | 'dead' {
  switch (phase.type) {
    case 'pending':
    case 'starting':
    case 'waiting':
      return 'pending'
    case 'running':
    case 'delaying':
    case 'ending':
      return 'running'
    case 'dead':
      return 'dead'
    default:
      return assertNever(phase)
  }
}

/** When `elapsed` is due; null: it waits for no time. */
export function dueMsOf({ phase }: TaskMachine): number | null {
  return 'untilMs' in phase ? phase.untilMs : null
}

export function stepTask(
  machine: TaskMachine,
  rules: TaskRules,
  input: TaskInput,
  at: At,
): TaskStep {
  switch (input.type) {
    case 'begin':
      return machine.phase.type === 'pending'
        ? { machine: starting(told(machine, setUp, at)), effects: ['start'] }
        : unchanged(machine)
    case 'started':
      return hasStarted(machine, rules, at)
    case 'refused':
      return wasRefused(machine, rules, input, at)
    case 'exited':
      return hasExited(machine, rules, input.exit, at)
    case 'stop':
      return isStopped(machine, rules, input.stop, at)
    case 'restart':
    case 'unhealthy':
      return isRestarted(machine, rules, input, at)
    case 'again':
      return isPutBack(machine, rules, input.because, at)
    case 'told':
      return { machine: told(machine, input.event, at), effects: [] }
    case 'elapsed':
      return hasElapsed(machine, rules, at)
    default:
      return assertNever(input)
  }
}

function hasStarted(machine: TaskMachine, rules: TaskRules, at: At): TaskStep {
  const { phase } = machine
  if (phase.type !== 'starting') return unchanged(machine)
  const { again: _, ...before } = machine
  const running: TaskMachine = {
    ...told(before, started, at),
    phase: { type: 'running' },
    startedMs: at.wallMs,
    upMs: at.nowMs,
  }
  if (phase.stop === null) return { machine: running, effects: [] }
  if (phase.stop === 'again') return interrupted(running, rules, phase.stop, at)
  return isStopped(running, rules, phase.stop, at)
}

function wasRefused(
  machine: TaskMachine,
  rules: TaskRules,
  { event, canRetry }: Extract<TaskInput, { type: 'refused' }>,
  at: At,
): TaskStep {
  const { phase } = machine
  if (phase.type !== 'starting') return unchanged(machine)
  if (phase.stop === 'again') return { machine: putBack(machine, at), effects: [] }
  if (phase.stop !== null) return { machine: dead(machine, phase.stop.isFailure, at), effects: [] }
  const informed = told(machine, event, at)
  if (canRetry) return restartByPolicy(informed, rules, at)
  return {
    machine: dead(told(informed, notRestarting('Error was unrecoverable'), at), true, at),
    effects: [],
  }
}

function hasExited(machine: TaskMachine, rules: TaskRules, exit: Exit, at: At): TaskStep {
  const { phase } = machine
  if (phase.type !== 'running' && phase.type !== 'delaying' && phase.type !== 'ending') {
    return unchanged(machine)
  }
  const lost = exit.type === 'known' ? exit.outputLost : undefined
  const before = lost === undefined ? machine : told(machine, toldByDriver(lost), at)
  const informed = told(before, terminated(exit), at)
  if (phase.type === 'ending') {
    const gone = told(informed, killed, at)
    if (phase.stop === 'restart') {
      return { machine: starting(countRestart(gone, at)), effects: ['start'] }
    }
    if (phase.stop === 'unhealthy') return restartByPolicy(gone, rules, at)
    if (phase.stop === 'again') return { machine: putBack(gone, at), effects: [] }
    return { machine: dead(gone, phase.stop.isFailure, at), effects: [] }
  }
  if (phase.type === 'delaying') {
    return { machine: dead(informed, phase.stop.isFailure, at), effects: [] }
  }
  const succeeded = exit.type === 'known' && exit.code === 0 && exit.hasFailed !== true
  if (succeeded && rules.endsBySuccess) return { machine: dead(informed, false, at), effects: [] }
  return restartByPolicy(informed, rules, at)
}

function isStopped(machine: TaskMachine, rules: TaskRules, stop: Stop, at: At): TaskStep {
  const { phase } = machine
  const { because } = stop
  const informed = because === null ? machine : told(machine, because, at)
  switch (phase.type) {
    case 'dead':
      return unchanged(machine)
    case 'delaying':
      return rules.skipsDelay ? interrupted(machine, rules, phase.stop, at) : unchanged(machine)
    case 'pending':
    case 'waiting':
      return { machine: dead(informed, stop.isFailure, at), effects: [] }
    case 'starting':
      if (phase.stop !== null && phase.stop !== 'again') return unchanged(machine)
      return {
        machine: { ...informed, phase: { ...phase, stop } },
        effects: phase.stop === null ? ['abortStart'] : [],
      }
    case 'running': {
      if (rules.skipsDelay || rules.shutdownDelayMs <= 0)
        return interrupted(informed, rules, stop, at)
      const untilMs = at.nowMs + rules.shutdownDelayMs
      return {
        machine: {
          ...told(informed, shutdownDelay(rules.shutdownDelayMs), at),
          phase: { type: 'delaying', untilMs, stop },
        },
        effects: [],
      }
    }
    case 'ending':
      if (isStop(phase.stop)) return unchanged(machine)
      return { machine: { ...informed, phase: { ...phase, stop } }, effects: [] }
    default:
      return assertNever(phase)
  }
}

function isRestarted(
  machine: TaskMachine,
  rules: TaskRules,
  { type, because }: Extract<TaskInput, { type: 'restart' | 'unhealthy' }>,
  at: At,
): TaskStep {
  if (machine.phase.type !== 'running') return unchanged(machine)
  return interrupted(told(machine, because, at), rules, type, at)
}

function isPutBack(machine: TaskMachine, rules: TaskRules, because: EventSeed, at: At): TaskStep {
  const { phase } = machine
  const informed = told(machine, because, at)
  switch (phase.type) {
    case 'pending':
    case 'delaying':
      return unchanged(machine)
    case 'waiting':
    case 'dead':
      return { machine: putBack(informed, at), effects: [] }
    case 'starting':
      if (phase.stop !== null) return unchanged(machine)
      return {
        machine: { ...informed, phase: { ...phase, stop: 'again' } },
        effects: ['abortStart'],
      }
    case 'running':
      return interrupted(informed, rules, 'again', at)
    case 'ending':
      if (phase.stop === 'again' || isStop(phase.stop)) return unchanged(machine)
      return { machine: { ...informed, phase: { ...phase, stop: 'again' } }, effects: [] }
    default:
      return assertNever(phase)
  }
}

/** To where it waits for its turn. */
function putBack(machine: TaskMachine, at: At): TaskMachine {
  return { ...countRestart(machine, at), phase: { type: 'pending' }, failed: false, again: true }
}

/** It is to end for good. */
export function isGivenUp({ phase }: TaskMachine): boolean {
  if (phase.type === 'delaying') return true
  return (phase.type === 'starting' || phase.type === 'ending') && isStop(phase.stop)
}

/** It ends so that it can run again with the others. */
export function isComingBack({ phase }: TaskMachine): boolean {
  return (phase.type === 'starting' || phase.type === 'ending') && phase.stop === 'again'
}

function isStop(stop: Stop | RunsOn | null): stop is Stop {
  return typeof stop === 'object' && stop !== null
}

function hasElapsed(machine: TaskMachine, rules: TaskRules, at: At): TaskStep {
  const { phase } = machine
  const dueMs = dueMsOf(machine)
  if (dueMs === null || at.nowMs < dueMs) return unchanged(machine)
  switch (phase.type) {
    case 'waiting':
      return { machine: starting(countRestart(machine, at)), effects: ['start'] }
    case 'delaying':
      return interrupted(machine, rules, phase.stop, at)
    case 'ending':
      return { machine: { ...machine, phase: { ...phase, untilMs: null } }, effects: ['kill'] }
    default:
      return unchanged(machine)
  }
}

function interrupted(
  machine: TaskMachine,
  { killTimeoutMs }: TaskRules,
  stop: Stop | RunsOn,
  at: At,
): TaskStep {
  return {
    machine: {
      ...told(machine, killing(killTimeoutMs), at),
      phase: { type: 'ending', untilMs: at.nowMs + killTimeoutMs, stop },
    },
    effects: ['interrupt'],
  }
}

/** It ended by itself, did not start, or did not work. */
function restartByPolicy(machine: TaskMachine, rules: TaskRules, at: At): TaskStep {
  const { attempts, intervalMs, delayMs, mode } = rules
  const { nowMs, random } = at
  if (attempts === 0 && mode === 'fail') {
    return failed(machine, 'Policy allows no restarts', at)
  }
  const { interval } = machine
  const isOver = interval === null || nowMs > interval.sinceMs + intervalMs
  const counted = isOver ? { sinceMs: nowMs, count: 1 } : { ...interval, count: interval.count + 1 }
  if (counted.count <= attempts) {
    const waitMs = delayMs * (1 + restartJitter * random)
    return { machine: waiting({ ...machine, interval: counted }, '', waitMs, at), effects: [] }
  }
  const spent = `Exceeded allowed attempts ${attempts} in interval ${seconds(intervalMs)}`
  if (mode === 'fail') return failed(machine, `${spent} and mode is "fail"`, at)
  const waitMs = Math.max(delayMs, counted.sinceMs + intervalMs - nowMs)
  return { machine: waiting({ ...machine, interval: null }, spent, waitMs, at), effects: [] }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)}s`
}

function waiting(machine: TaskMachine, reason: string, waitMs: number, at: At): TaskMachine {
  return {
    ...told(machine, restarting(reason, waitMs), at),
    phase: { type: 'waiting', untilMs: at.nowMs + waitMs },
    finishedMs: at.wallMs,
  }
}

function failed(machine: TaskMachine, reason: string, at: At): TaskStep {
  return { machine: dead(told(machine, notRestarting(reason), at), true, at), effects: [] }
}

function starting(machine: TaskMachine): TaskMachine {
  return { ...machine, phase: { type: 'starting', stop: null } }
}

function countRestart(machine: TaskMachine, { wallMs }: At): TaskMachine {
  return { ...machine, restarts: machine.restarts + 1, lastRestartMs: wallMs }
}

function dead(machine: TaskMachine, isFailed: boolean, { wallMs }: At): TaskMachine {
  return { ...machine, phase: { type: 'dead' }, failed: isFailed, finishedMs: wallMs }
}

function told(machine: TaskMachine, event: EventSeed, { wallMs }: At): TaskMachine {
  return { ...machine, events: withTaskEvent(machine.events, event, wallMs) }
}

function unchanged(machine: TaskMachine): TaskStep {
  return { machine, effects: [] }
}
