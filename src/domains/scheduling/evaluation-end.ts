/** What becomes of an evaluation that was decided on, and which others follow from it. Pure. */
import type { Plan } from '../allocations/plan-model.ts'
import type { DeploymentRow } from '../deployments/model.ts'
import {
  newEvaluation,
  type EvaluationRow,
  type NewEvaluation,
  type Trigger,
} from '../evaluations/model.ts'
import type { Decision } from '../../scheduler/decision.ts'
import { attemptsMax, deliveriesMax } from './model.ts'

/** Evaluations of one plan. */
const writtenMax = 4
const classesMax = 1_024
/** Failed allocations whose times are so close are looked at together. */
const togetherMs = 1_000
const givenUpWaitMs = 60_000

export type EndContext = {
  readonly row: EvaluationRow
  /** Others of the job that are pending or blocked. */
  readonly open: readonly EvaluationRow[]
  readonly jobModifyIndex: number
  /** The newest one of the job, whatever became of it; null: there is none. */
  readonly deployment: Pick<DeploymentRow, 'id'> | null
  readonly snapshotIndex: number
  readonly nowMs: number
  readonly newId: () => string
}

/** All was applied that was decided. */
export function ended(context: EndContext, decision: Decision): NewEvaluation[] {
  const { row, open, nowMs } = context
  const waits = decision.queued.some(([, count]) => count > 0)
  const blocked = waits ? blockedFor(context, decision, 'queued-allocs') : null
  const followUp = followUpOf(context, decision)
  const isItself = blocked !== null && blocked.id === row.id
  const itself: NewEvaluation = {
    ...(isItself ? blocked : asNew(row)),
    status: isItself ? 'blocked' : 'complete',
    statusDescription: '',
    queued: decision.queued.map(([group, count]) => [group, count]),
    failed: decision.failed.map(([group, metrics]) => [group, metrics]),
    blockedEval: blocked === null || isItself ? '' : blocked.id,
    nextEval: followUp?.id ?? row.nextEval,
    snapshotIndex: context.snapshotIndex,
    modifyMs: nowMs,
    ...deploymentOf(context, decision),
  }
  const over = open.filter(({ id, status }) => status === 'blocked' && id !== blocked?.id)
  return [
    itself,
    ...(blocked === null || isItself ? [] : [blocked]),
    ...(followUp === null ? [] : [followUp]),
    ...over.map((one) => canceled(one, row, nowMs)),
  ].slice(0, writtenMax)
}

/**
 * Of the allocations that wait, those that are due with the evaluation that follows, or with one that is there, and do not say so yet. One that
 * is due later is told once that evaluation has looked at it. `written`: see `ended`.
 */
export function followedUp(
  { open, nowMs }: EndContext,
  { awaiting }: Decision,
  written: readonly NewEvaluation[],
): Plan['followUp'] | null {
  if (awaiting.length === 0) return null
  const dueMs = Math.min(...awaiting.map(({ atMs }) => atMs))
  const next = written.find(({ status }) => status === 'pending') ?? inTime({ open, nowMs }, dueMs)
  if (next === undefined) return null
  const ids = awaiting.flatMap(({ id, followupEval, atMs }) =>
    atMs <= next.waitUntilMs + togetherMs && followupEval !== next.id ? [id] : [],
  )
  return ids.length === 0 ? null : { evaluation: next.id, ids }
}

/** Its plans were refused too often. */
export function refusedTooOften(context: EndContext, decision: Decision): NewEvaluation[] {
  const { row, nowMs, snapshotIndex } = context
  const blocked = blockedFor(context, decision, 'max-plan-attempts')
  const failed: NewEvaluation = {
    ...asNew(row),
    status: 'failed',
    statusDescription: `maximum attempts reached (${attemptsMax})`,
    blockedEval: blocked.id === row.id ? '' : blocked.id,
    snapshotIndex,
    modifyMs: nowMs,
    ...deploymentOf(context, decision),
  }
  return blocked.id === row.id ? [blocked] : [failed, blocked]
}

/** Workers failed with it. It is tried again after a while, by another evaluation. */
export function givenUp({ row, nowMs, newId }: EndContext): NewEvaluation[] {
  const followUp = following(row, {
    id: newId(),
    nowMs,
    triggeredBy: 'failed-follow-up',
    waitUntilMs: nowMs + givenUpWaitMs,
  })
  const failed: NewEvaluation = {
    ...asNew(row),
    status: 'failed',
    statusDescription: `evaluation reached delivery limit (${deliveriesMax})`,
    nextEval: followUp.id,
    modifyMs: nowMs,
  }
  return [failed, followUp]
}

/** As Nomad's tools follow it behind the evaluation: the one that begins with it, else the newest one. */
function deploymentOf(
  { deployment }: EndContext,
  { deployment: { create } }: Decision,
): Pick<NewEvaluation, 'deploymentId'> {
  const id = create?.id ?? deployment?.id
  return id === undefined ? {} : { deploymentId: id }
}

/** A job has one that is blocked: itself, the one that there is, or a new one. */
function blockedFor(
  { row, open, jobModifyIndex, snapshotIndex, nowMs, newId }: EndContext,
  { queued, failed, classes, escaped }: Decision,
  triggeredBy: Trigger,
): NewEvaluation {
  const before = row.status === 'blocked' ? row : open.find(({ status }) => status === 'blocked')
  const blocked =
    before === undefined
      ? following(row, { id: newId(), nowMs, triggeredBy, waitUntilMs: 0 })
      : { ...asNew(before), triggeredBy, priority: row.priority }
  return {
    ...blocked,
    status: 'blocked',
    jobModifyIndex,
    queued: queued.map(([group, count]) => [group, count]),
    failed: failed.map(([group, metrics]) => [group, metrics]),
    classes: [...classes].slice(0, classesMax),
    // A class that is not in the list may fit, so a list that was cut rules out too little, never too much.
    escaped,
    snapshotIndex,
    modifyMs: nowMs,
  }
}

/** Null: none is needed, or there is one in time. */
function followUpOf(
  { row, open, nowMs, newId }: EndContext,
  { followUpMs, cutOffUntilMs }: Decision,
): NewEvaluation | null {
  const dueMs = Math.min(followUpMs ?? Infinity, cutOffUntilMs ?? Infinity)
  if (dueMs === Infinity || inTime({ open, nowMs }, dueMs) !== undefined) return null
  const triggeredBy = dueMs === followUpMs ? 'alloc-failure' : 'max-disconnect-timeout'
  return following(row, { id: newId(), nowMs, triggeredBy, waitUntilMs: Math.ceil(dueMs) })
}

/** The last one of those that are due before something is, or at about the same time. */
function inTime(
  { open, nowMs }: Pick<EndContext, 'open' | 'nowMs'>,
  dueMs: number,
): EvaluationRow | undefined {
  return open
    .filter(
      ({ status, waitUntilMs }) =>
        status === 'pending' && waitUntilMs > nowMs && waitUntilMs <= dueMs + togetherMs,
    )
    .toSorted((left, right) => right.waitUntilMs - left.waitUntilMs)[0]
}

function following(
  { namespace, jobId, type, priority, id: previousEval, skipsDelay }: EvaluationRow,
  about: Pick<NewEvaluation, 'id' | 'triggeredBy' | 'waitUntilMs'> & { readonly nowMs: number },
): NewEvaluation {
  const job = { namespace, jobId, type, priority }
  return newEvaluation({ ...job, previousEval, ...(skipsDelay && { skipsDelay }), ...about })
}

function canceled(row: EvaluationRow, by: EvaluationRow, nowMs: number): NewEvaluation {
  return {
    ...asNew(row),
    status: 'canceled',
    statusDescription: `evaluation ${by.id} decided on all of the job`,
    modifyMs: nowMs,
  }
}

function asNew(row: EvaluationRow): NewEvaluation {
  const { createIndex: _created, modifyIndex: _modified, ...rest } = row
  return rest
}
