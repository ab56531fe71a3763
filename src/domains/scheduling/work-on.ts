/**
 * One evaluation from its beginning to its end: reads a view, decides, proposes the plan. Where the state moved on and a part of the plan was
 * refused, it decides again on the newer state.
 */
import { randomUUID } from 'node:crypto'
import type { Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { allOf } from '../../lib/pages.ts'
import type { Plan, PlanOutcome } from '../allocations/plan-model.ts'
import {
  isTerminal,
  linkedWorkloadsVersion,
  type EvaluationRow,
  type NewEvaluation,
} from '../evaluations/model.ts'
import { evaluationById, openEvaluationsOfJob } from '../evaluations/queries.ts'
import type { Decision } from '../../scheduler/decision.ts'
import type { Patterns } from '../../scheduler/operands.ts'
import { planParts, type PlanPart } from '../../scheduler/plan-parts.ts'
import { onView, type OpenView } from '../host.ts'
import type { ClusterMirror } from './cluster-mirror.ts'
import { decide, deploymentNow, scheduledJobOf, seenJob, type SeenJob } from './decide.ts'
import { ended, followedUp, givenUp, refusedTooOften, type EndContext } from './evaluation-end.ts'
import { attemptsMax } from './model.ts'

/** Plans of one evaluation, also where each brings something. */
const plansMax = 32
/** Parts of a plan that are under way at once. */
const partsInFlight = 4

export type WorkContext = {
  readonly clock: Clock
  readonly view: OpenView
  /** Resolves once the plan is applied, as far as it stands. */
  readonly submit: (plan: Plan) => Promise<PlanOutcome>
  readonly mirror: ClusterMirror
  /** Brings the mirror up to the newest state. */
  readonly refresh: () => void
  readonly patterns: Patterns
  readonly onState: (state: 'scheduling' | 'submitting') => void
}

/** Evaluations as they were written; none, where it was over already, or is held by the storm brake. */
export type Worked = readonly NewEvaluation[]

type Seen = {
  readonly row: EvaluationRow
  readonly open: readonly EvaluationRow[]
  readonly job: SeenJob
  /** Every server knows `linkedWorkloadsVersion`. */
  readonly linksFollowUps: boolean
}

export async function workOn(id: string, context: WorkContext): Promise<Worked> {
  let fruitless = 0
  let doubted: ReadonlySet<string> = new Set()
  for (let plans = 1; ; plans += 1) {
    context.onState('scheduling')
    const decided = await decideOn(id, doubted, context)
    if (decided === null) return []
    const { seen, decision } = decided
    context.onState('submitting')
    const end = endContext(seen, context)
    const written = ended(end, decision)
    const followUp = seen.linksFollowUps ? followedUp(end, decision, written) : null
    const outcome = await proposeAll(seen, planParts(decision, { followUp }), written, context)
    if (outcome.type !== 'refused') return outcome.written
    if (!outcome.hasBrought) fruitless += 1
    doubted = outcome.nodes
    if (fruitless < attemptsMax && plans < plansMax) continue
    const last = await proposeOne(seen, nothing(), refusedTooOften(end, decision), context)
    return last.stale ? [] : refusedTooOften(end, decision)
  }
}

/** Workers failed with it too often. */
export async function giveUp(id: string, context: WorkContext): Promise<Worked> {
  const seen = await onView(context.view, (reader) => read(reader, id, context))
  if (seen === null) return []
  const written = givenUp(endContext(seen, context))
  const { stale } = await proposeOne(seen, nothing(), written, context)
  return stale ? [] : written
}

type Decided = { readonly seen: Seen; readonly decision: Decision }

/** Null: there is nothing to do for it any more, or the storm brake holds it. `doubted`: nodes that are read anew. */
function decideOn(
  id: string,
  doubted: ReadonlySet<string>,
  context: WorkContext,
): Promise<Decided | null> {
  const { view, clock, mirror: cluster, patterns } = context
  return onView(view, async (reader) => {
    const seen = await read(reader, id, context)
    if (seen === null) return null
    for (const nodeId of doubted) await cluster.doubt(reader, nodeId)
    context.refresh()
    if (cluster.holds(seen.row)) return null
    const decision = decide(seen.job, scheduledJobOf(seen.job), seen.row, {
      reader,
      clock,
      cluster,
      patterns,
    })
    return { seen, decision }
  })
}

/** Null: there is nothing to do for it any more. */
async function read(
  reader: Reader,
  id: string,
  { clock }: Pick<WorkContext, 'clock'>,
): Promise<Seen | null> {
  const row = evaluationById(reader, id)
  if (row === null || isTerminal(row)) return null
  const all = await allOf(openEvaluationsOfJob(reader, row))
  const open = all.filter((other) => other.id !== id)
  const linksFollowUps = reader.commandVersion >= linkedWorkloadsVersion
  return { row, open, job: await seenJob(reader, row, { clock }), linksFollowUps }
}

type Outcome =
  | { readonly type: 'done'; readonly written: Worked }
  /** `hasBrought`: some of it was applied. `nodes`: where something was refused. */
  | {
      readonly type: 'refused'
      readonly hasBrought: boolean
      readonly nodes: ReadonlySet<string>
    }

/**
 * The plan that ends the evaluation goes once all others are in. It holds the rows where all of them are one part; else it has none, so that
 * no part waits for the others.
 */
async function proposeAll(
  seen: Seen,
  parts: readonly PlanPart[],
  written: NewEvaluation[],
  context: WorkContext,
): Promise<Outcome> {
  const [first = nothing(), ...others] = parts
  const [before, last] = others.length === 0 ? [[], first] : [parts, nothing()]
  const refused: PlanOutcome['refused'][number][] = []
  for (let at = 0; at < before.length; at += partsInFlight) {
    const together = before.slice(at, at + partsInFlight)
    const outcomes = await Promise.all(together.map((part) => proposeOne(seen, part, [], context)))
    if (outcomes.some(({ stale }) => stale)) return { type: 'done', written: [] }
    for (const outcome of outcomes) refused.push(...outcome.refused)
  }
  // With what follows from a plan that is not whole the next look would be misled.
  if (refused.length === 0) {
    const outcome = await proposeOne(seen, last, written, context)
    if (outcome.stale) return { type: 'done', written: [] }
    if (outcome.refused.length === 0) return { type: 'done', written }
    refused.push(...outcome.refused)
  }
  const asked = parts.reduce((sum, part) => sum + countOf(part), 0)
  const nodes = new Set(refused.flatMap(({ nodeId }) => (nodeId === '' ? [] : [nodeId])))
  return { type: 'refused', hasBrought: refused.length < asked, nodes }
}

async function proposeOne(
  { row, job: { jobModifyIndex } }: Seen,
  part: PlanPart,
  evaluations: NewEvaluation[],
  { submit, clock, mirror }: WorkContext,
): Promise<PlanOutcome> {
  const plan: Plan = {
    evaluation: row.id,
    jobModifyIndex,
    ...part,
    evaluations,
    nowMs: Math.floor(clock.wallMs()),
  }
  return mirror.whilePlaced(part.place, () => submit(plan))
}

function endContext(seen: Seen, { clock }: WorkContext): EndContext {
  const { row, open, job } = seen
  const { jobModifyIndex, snapshotIndex } = job
  const nowMs = Math.floor(clock.wallMs())
  const deployment = deploymentNow(job)
  return { row, open, jobModifyIndex, deployment, snapshotIndex, nowMs, newId: randomUUID }
}

function nothing(): PlanPart {
  return { place: [], update: [], stop: [] }
}

function countOf({ place, update, stop, unknown = [], followUp }: PlanPart): number {
  const named = unknown.length + (followUp?.ids.length ?? 0)
  return place.length + update.length + stop.length + named
}
