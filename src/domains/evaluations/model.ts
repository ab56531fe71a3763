/**
 * Evaluations: the word that a job's allocations may not be as they should be. A scheduler worker takes each one, compares what is
 * wanted with what is there, and ends it with a plan.
 *
 * `evaluations` may import `namespaces`, `rpc`, `fsm`, `api` and `lib`. Jobs, nodes and allocations make evaluations, so this
 * domain knows none of them.
 */
import { createHash } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { uuidPattern } from '../../lib/uuid.ts'
import type { Moment } from '../../fsm/domain.ts'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'
import { JobType } from './job-type-model.ts'

export { defaultNamespace } from '../namespaces/model.ts'

/** The command version of the first programs that schedule work. */
export const workloadsVersion = 11

/**
 * The command version of the first programs that all know what is proposed for workloads now. Those of 11 came while that still changed, and
 * the earliest of them would stop at an entry of the latest.
 */
export const settledWorkloadsVersion = 12

/**
 * The command version from which on allocations say which evaluation looks at them again, and evaluations of a node the index of its
 * newest change.
 */
export const linkedWorkloadsVersion = 20

/** The command version from which on operators may say more of one registration, dispatch, evaluation or stop of a job. */
export const operatorOptionsVersion = 21

export const jobIdLengthMax = 256
export const groupNameLengthMax = 256
const groupsMax = 256
const descriptionLengthMax = 1_024
const countsMax = 64

export const RowId = Type.String({ pattern: uuidPattern.source })
/** '': there is none. */
export const IdOrNone = Type.String({ pattern: `^$|${uuidPattern.source}` })

const Word = Type.String({ maxLength: 256 })
export const NamespaceName = Type.String({ minLength: 1, maxLength: 128 })
export const JobId = Type.String({ minLength: 1, maxLength: jobIdLengthMax })
export const GroupName = Type.String({ minLength: 1, maxLength: groupNameLengthMax })
const Counts = Type.Array(Type.Tuple([Word, Count]), { maxItems: countsMax })

export const triggers = [
  'job-register',
  'job-deregister',
  'periodic-job',
  'node-drain',
  'node-update',
  'alloc-stop',
  'scheduled',
  'rolling-update',
  'deployment-watcher',
  'failed-follow-up',
  'max-plan-attempts',
  'alloc-failure',
  'queued-allocs',
  'preemption',
  'job-scaling',
  'max-disconnect-timeout',
  'reconnect',
  'alloc-reschedule',
] as const
export type Trigger = (typeof triggers)[number]

/** Of what a node got in all. */
export const scoreName = 'normalized-score'

/** Why allocations went where they did, or nowhere: the counts that Nomad's tools show. */
export const Metrics = record({
  nodesEvaluated: Count,
  nodesFiltered: Count,
  nodesExhausted: Count,
  /** By datacenter. */
  nodesAvailable: Counts,
  classFiltered: Counts,
  constraintFiltered: Counts,
  classExhausted: Counts,
  dimensionExhausted: Counts,
  /** Of the best nodes, the best first: node, name of the score, and the score in millionths from -1 to 1. */
  scores: Type.Array(
    Type.Tuple([RowId, Word, Type.Integer({ minimum: -1_000_000, maximum: 1_000_000 })]),
    { maxItems: 32 },
  ),
  coalescedFailures: Count,
  /** Microseconds that the placement took. */
  tookUs: Count,
})
export type Metrics = Static<typeof Metrics>

export const evaluationStatuses = ['pending', 'blocked', 'complete', 'failed', 'canceled'] as const

export const Priority = Type.Integer({ minimum: 1, maximum: 100 })

const members = {
  id: RowId,
  namespace: NamespaceName,
  jobId: JobId,
  /** Of the job. */
  type: JobType,
  priority: Priority,
  triggeredBy: Type.Enum([...triggers]),
  /** Of the job as it was; 0: whatever it is. */
  jobModifyIndex: Count,
  /** The node whose change led to it, and the index of that. */
  nodeId: IdOrNone,
  nodeModifyIndex: Count,
  /** That goes on, or ends, with it. */
  deploymentId: Type.Optional(RowId),
  /** The job was stopped, and its tasks are to end without their delays. Since `operatorOptionsVersion`. */
  skipsDelay: Type.Optional(Type.Literal(true)),
  status: Type.Enum([...evaluationStatuses]),
  statusDescription: Type.String({ maxLength: descriptionLengthMax }),
  /** No worker takes it before; 0: at once. */
  waitUntilMs: TimeMs,
  previousEval: IdOrNone,
  nextEval: IdOrNone,
  blockedEval: IdOrNone,
  /** Allocations by group that have no place yet. */
  queued: Type.Array(Type.Tuple([GroupName, Count]), { maxItems: groupsMax }),
  /** By group, why. */
  failed: Type.Array(Type.Tuple([GroupName, Metrics]), { maxItems: groupsMax }),
  /** Of a blocked one: what is known of the classes of nodes; a class that is not named may fit. */
  classes: Type.Array(Type.Tuple([Type.String({ maxLength: 64 }), Type.Boolean()]), {
    maxItems: 1_024,
  }),
  /** Of a blocked one: its constraints look at single nodes, so no class is ruled out. */
  escaped: Type.Boolean(),
  /** Of the state that the worker looked at last. */
  snapshotIndex: Count,
  createMs: TimeMs,
  modifyMs: TimeMs,
}

/** As it is proposed: the entry gives the indexes. */
export const NewEvaluation = record(members)
export type NewEvaluation = Readonly<Static<typeof NewEvaluation>>

export const EvaluationRow = record({ ...members, ...indexes })
export type EvaluationRow = Readonly<Static<typeof EvaluationRow>>

export function isTerminal({ status }: Pick<EvaluationRow, 'status'>): boolean {
  return status !== 'pending' && status !== 'blocked'
}

/** What makers of evaluations say; the rest is what every new one has. */
export type EvaluationSeed = Pick<
  NewEvaluation,
  'id' | 'namespace' | 'jobId' | 'type' | 'priority' | 'triggeredBy'
> &
  Partial<NewEvaluation> & { readonly nowMs: number }

export function newEvaluation({ nowMs, ...seed }: EvaluationSeed): NewEvaluation {
  return {
    jobModifyIndex: 0,
    nodeId: '',
    nodeModifyIndex: 0,
    status: 'pending',
    statusDescription: '',
    waitUntilMs: 0,
    previousEval: '',
    nextEval: '',
    blockedEval: '',
    queued: [],
    failed: [],
    classes: [],
    escaped: false,
    snapshotIndex: 0,
    createMs: nowMs,
    modifyMs: nowMs,
    ...seed,
  }
}

/**
 * The id of an evaluation that follows from an entry, where no proposer could choose one: the same on every server, and the same
 * however often one entry leads to it.
 */
export function derivedId(moment: Moment, ...about: readonly string[]): string {
  const text = JSON.stringify([moment.index, moment.nowMs, ...about])
  const hex = createHash('sha256').update(text).digest('hex')
  const part = (from: number, to: number): string => hex.slice(from, to)
  return [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join('-')
}

export type JobKey = { readonly namespace: string; readonly jobId: string }

/** The same for the same job. */
export function keyOfJob({ namespace, jobId }: JobKey): string {
  return JSON.stringify([namespace, jobId])
}
