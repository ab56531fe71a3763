/**
 * Allocations: a task group of one version of a job, given to a node. What is wanted of it (`desired`) is the scheduler's word, what
 * became of it (`client`) that of the node's agent alone.
 */
import { Type, type Static } from 'typebox'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'
import {
  GroupName,
  IdOrNone,
  JobId,
  jobIdLengthMax,
  Metrics,
  NamespaceName,
  RowId,
} from '../evaluations/model.ts'
import { tasksMax, type JobSpec } from '../jobs/model.ts'
import { portLabelLengthMax, portsMax } from '../jobs/network-model.ts'
import { reschedulesMax } from '../jobs/rules-model.ts'
import { memoryNoLimit } from '../jobs/task-model.ts'
import { NodeId, nodeNameLengthMax } from '../nodes/model.ts'

export { allNamespaces, defaultNamespace } from '../namespaces/model.ts'

const eventsMax = 10
/** Of what an agent says of one allocation, as JSON: a row holds it. */
export const reportLengthMax = 65_536
/** That one allocation takes the place of. */
export const preemptedMax = 32
/** That have not ended, on one node. */
export const allocationsPerNodeMax = 4_096

const Word = Type.String({ maxLength: 256 })
const Text = Type.String({ maxLength: 1_024 })
/** As agents tell times: clients read them as nanoseconds in 64 bits, and one that has no such number has no list at all. */
const ToldMs = Type.Integer({ minimum: 0, maximum: 9_223_372_036_854 })
const toldNs = '^([0-9]{1,18}|[1-8][0-9]{18}|9[01][0-9]{17})$'
const MaybeMs = Type.Union([Type.Null(), ToldMs])

export const desiredStatuses = ['run', 'stop', 'evict'] as const
export const clientStatuses = [
  'pending',
  'running',
  'complete',
  'failed',
  'lost',
  'unknown',
] as const

/** `value`: on the host; `to`: inside of the task's network, 0: the same. */
export const AllocatedPort = record({
  label: Type.String({ maxLength: portLabelLengthMax }),
  value: Type.Integer({ minimum: 1, maximum: 65_535 }),
  to: Type.Integer({ minimum: 0, maximum: 65_535 }),
  address: Word,
})
export type AllocatedPort = Readonly<Static<typeof AllocatedPort>>

/**
 * What `memoryMaxMb` is where there is no limit: the most that a job can ask for. Programs that know no such thing take it as a limit
 * that no machine reaches.
 */
export const memoryUnlimitedMb = 2_147_483_647

/** `memoryMaxMb`: that it may use where others leave it, which is not reserved; absent: no more than `memoryMb`. */
const TaskResources = record({
  task: GroupName,
  cpuMhz: Count,
  memoryMb: Count,
  memoryMaxMb: Type.Optional(Count),
})

/** As jobs say it; 0: no more than is reserved. */
export function askedMemoryMax({ memoryMaxMb = 0 }: Static<typeof TaskResources>): number {
  return memoryMaxMb === memoryUnlimitedMb ? memoryNoLimit : memoryMaxMb
}

/** What it takes of its node. */
export const AllocatedResources = record({
  tasks: Type.Array(TaskResources, { maxItems: tasksMax }),
  diskMb: Count,
  ports: Type.Array(AllocatedPort, { maxItems: portsMax }),
})
export type AllocatedResources = Readonly<Static<typeof AllocatedResources>>

/** Labels of the ports of the host that its group wants by their numbers. */
export function staticPortsOf(
  { TaskGroups }: JobSpec,
  { group: name }: { readonly group: string },
): readonly string[] {
  const group = TaskGroups.find(({ Name }) => Name === name)
  if (group === undefined) return []
  // Of tasks too, as older job files have them.
  const networks = [...group.Networks, ...group.Tasks.flatMap((task) => task.Resources.Networks)]
  return networks.flatMap(({ ReservedPorts }) => ReservedPorts.map(({ Label }) => Label))
}

export const TaskEvent = record({
  type: Word,
  timeNs: Type.String({ pattern: toldNs }),
  message: Text,
  displayMessage: Text,
  details: Type.Array(Type.Tuple([Word, Text]), { maxItems: 16 }),
})
export type TaskEvent = Readonly<Static<typeof TaskEvent>>

export const TaskState = record({
  task: GroupName,
  state: Type.Enum(['pending', 'running', 'dead']),
  failed: Type.Boolean(),
  restarts: Count,
  startedMs: MaybeMs,
  finishedMs: MaybeMs,
  lastRestartMs: MaybeMs,
  /** The oldest first. */
  events: Type.Array(TaskEvent, { maxItems: eventsMax }),
})
export type TaskState = Readonly<Static<typeof TaskState>>
export const taskEventsMax = eventsMax

/** Whether it is as healthy as its job's rules want, since when; null: not known yet. */
const Health = Type.Union([Type.Null(), record({ healthy: Type.Boolean(), timeMs: ToldMs })])

/** What a node's agent says of one of its allocations. */
export const ClientReport = Type.Refine(
  record({
    id: RowId,
    clientStatus: Type.Enum(['pending', 'running', 'complete', 'failed']),
    clientDescription: Text,
    tasks: Type.Array(TaskState, { maxItems: tasksMax }),
    health: Health,
  }),
  (report) => JSON.stringify(report).length <= reportLengthMax,
  () => `must take at most ${reportLengthMax} characters`,
)
export type ClientReport = Readonly<Static<typeof ClientReport>>

/** An allocation that this one was made instead of. */
const Rescheduled = record({
  timeMs: TimeMs,
  allocation: RowId,
  node: NodeId,
  delayMs: TimeMs,
})

const placed = {
  id: RowId,
  namespace: NamespaceName,
  jobId: JobId,
  /** The version of the job that it runs, and the entry that made that job: see the table of versions. */
  jobCreateIndex: Count,
  jobVersion: Count,
  group: GroupName,
  /** `job.group[index]` */
  name: Type.String({ minLength: 1, maxLength: 2 * jobIdLengthMax + 16 }),
  nodeId: NodeId,
  nodeName: Type.String({ maxLength: nodeNameLengthMax }),
  evalId: RowId,
  resources: AllocatedResources,
  metrics: Metrics,
  previous: IdOrNone,
  /** That it counts in; absent: none. */
  deploymentId: Type.Optional(RowId),
  /** It was placed beside what it may replace once its deployment promotes it. */
  canary: Type.Optional(Type.Boolean()),
  /** Of lower priority, on the same node, that end for it; its own tasks wait for that. */
  preempts: Type.Optional(Type.Array(RowId, { minItems: 1, maxItems: preemptedMax })),
  rescheduled: Type.Array(Rescheduled, { maxItems: reschedulesMax }),
}

/** As a plan has it. */
export const NewAllocation = record(placed)
export type NewAllocation = Readonly<Static<typeof NewAllocation>>

export const AllocationRow = record({
  ...placed,
  desiredStatus: Type.Enum([...desiredStatuses]),
  desiredDescription: Text,
  /** It is to move away from its node: a drain, or an operator. */
  migrate: Type.Boolean(),
  /** Its tasks are ended without their delays. */
  skipsDelay: Type.Optional(Type.Literal(true)),
  /** Of one that failed: an operator wants it placed anew at once, whatever its group waits for. Since `operatorOptionsVersion`. */
  rescheduleNow: Type.Optional(Type.Literal(true)),
  /** That it ends for; absent: none. */
  preemptedBy: Type.Optional(RowId),
  clientStatus: Type.Enum([...clientStatuses]),
  clientDescription: Text,
  tasks: Type.Array(TaskState, { maxItems: tasksMax }),
  health: Health,
  next: IdOrNone,
  followupEval: IdOrNone,
  createMs: TimeMs,
  modifyMs: TimeMs,
  /** Of the last change that its agent has to know of. */
  allocModifyIndex: Count,
  ...indexes,
})
export type AllocationRow = Readonly<Static<typeof AllocationRow>>

/** It runs nothing any more, as its agent says or because its node is lost. */
export function isClientTerminal({ clientStatus }: Pick<AllocationRow, 'clientStatus'>): boolean {
  return clientStatus === 'complete' || clientStatus === 'failed' || clientStatus === 'lost'
}

/** It is over: it neither runs nor is it wanted to. */
export function isTerminal(row: Pick<AllocationRow, 'clientStatus' | 'desiredStatus'>): boolean {
  return row.desiredStatus !== 'run' || isClientTerminal(row)
}

/** It takes its part of the node until its agent says that it ended. */
export function takesPlace(row: Pick<AllocationRow, 'clientStatus'>): boolean {
  return !isClientTerminal(row)
}

/** It failed, nothing took its place, and no operator has asked for that. */
export function mayBeRescheduled(
  row: Pick<AllocationRow, 'clientStatus' | 'desiredStatus' | 'next' | 'rescheduleNow'>,
): boolean {
  const hasFailed = row.clientStatus === 'failed' && row.desiredStatus === 'run'
  return hasFailed && row.next === '' && row.rescheduleNow !== true
}

/**
 * Its agent ended it although it was to run on, for the agent or its machine went down: its work is not done. What fails, or ends
 * with a task that the others accompany, came to its own end.
 */
export function wasCutShort({
  clientStatus,
  tasks,
}: Pick<AllocationRow, 'clientStatus' | 'tasks'>): boolean {
  if (clientStatus !== 'complete' || tasks.length === 0) return false
  return tasks.some(isKilled) || tasks.every(({ startedMs }) => startedMs === null)
}

/** What accompanies others ends when they do. */
const endsOfOthers: ReadonlySet<string> = new Set(['Main Tasks Dead', 'Leader Task Dead'])

function isKilled({ events }: TaskState): boolean {
  return events.at(-1)?.type === 'Killed' && !events.some(({ type }) => endsOfOthers.has(type))
}
