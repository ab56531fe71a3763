/** A plan: what a scheduler worker wants to do for one evaluation, checked against the newest state when it is applied. */
import { Type, type Static } from 'typebox'
import { record, Count } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'
import { DeploymentEnd, NewDeployment } from '../deployments/model.ts'
import { IdOrNone, Metrics, NewEvaluation, RowId } from '../evaluations/model.ts'
import { NewAllocation } from './model.ts'

/** Allocations that one entry places, stops or changes; a larger plan is several entries. */
export const planRowsMax = 256
const evaluationsMax = 4
const deploymentEndsMax = 2

export const Plan = record({
  evaluation: RowId,
  /** Of the job that it was made for; nothing is placed for another. 0: the job is gone. */
  jobModifyIndex: Count,
  place: Type.Array(NewAllocation, { maxItems: planRowsMax }),
  /** In place: to the newest version of the job, where its tasks stay as they are. */
  update: Type.Array(
    record({
      id: RowId,
      jobVersion: Count,
      metrics: Metrics,
      deploymentId: Type.Optional(RowId),
    }),
    { maxItems: planRowsMax },
  ),
  stop: Type.Array(
    record({
      id: RowId,
      desiredStatus: Type.Enum(['stop', 'evict']),
      desiredDescription: Type.String({ maxLength: 1_024 }),
      /** The node is gone: nobody else will say what became of it. */
      lost: Type.Boolean(),
      followupEval: IdOrNone,
    }),
    { maxItems: planRowsMax },
  ),
  /** Ids of those whose nodes are cut off: their agents may have them run on. */
  unknown: Type.Optional(Type.Array(RowId, { maxItems: planRowsMax })),
  /** Of those that wait, which evaluation looks at them again. From `linkedWorkloadsVersion` on. */
  followUp: Type.Optional(
    record({ evaluation: RowId, ids: Type.Array(RowId, { maxItems: planRowsMax }) }),
  ),
  /** Made unless it is there already: each entry of a larger plan has it. Of one that is there, the groups named want these counts now. */
  deployment: Type.Optional(NewDeployment),
  /** Those that are over with it. */
  deploymentEnds: Type.Optional(Type.Array(DeploymentEnd, { maxItems: deploymentEndsMax })),
  /** The evaluation itself as it is then, and new ones: blocked, follow-up. */
  evaluations: Type.Array(NewEvaluation, { maxItems: evaluationsMax }),
  nowMs: TimeMs,
})
export type Plan = Readonly<Static<typeof Plan>>

/** What became of it. */
export type PlanOutcome = {
  /** The evaluation is not pending any more, or there is none: nothing was done. */
  readonly stale: boolean
  /** Ids of what was not placed, and why: the node is gone or not eligible, full, a port is taken, the name runs already, the job changed; then stops are refused too. */
  readonly refused: readonly {
    readonly id: string
    readonly nodeId: string
    readonly reason: string
  }[]
  /** Where something was placed, stopped or changed. */
  readonly nodes: readonly string[]
  /** Ids of those that gave their place, and of the evaluations of their jobs. */
  readonly preempted: readonly string[]
  readonly evaluations: readonly string[]
}

/** As another server tells it. */
export const PlanOutcome = Type.Unsafe<PlanOutcome>(
  Type.Object({
    stale: Type.Boolean(),
    refused: Type.Array(
      Type.Object({ id: RowId, nodeId: IdOrNone, reason: Type.String({ maxLength: 1_024 }) }),
    ),
    nodes: Type.Array(RowId),
    preempted: Type.Array(RowId),
    evaluations: Type.Array(RowId),
  }),
)
