/**
 * What scheduler workers decided, checked against the newest state: their view may be older. What does not stand any more is refused
 * and named, the rest is done.
 */
import { defineCommand } from '../define.ts'
import {
  isTerminal as isOver,
  settledWorkloadsVersion,
  type EvaluationRow,
  keyOfJob,
} from '../evaluations/model.ts'
import { evaluationById } from '../evaluations/queries.ts'
import type { Applied, Reader } from '../../fsm/domain.ts'
import type { DeploymentRow } from '../deployments/model.ts'
import { deploymentById } from '../deployments/queries.ts'
import { systemDeploymentsVersion } from '../jobs/later-model.ts'
import { versionOf } from '../jobs/queries.ts'
import type { JobVersionRow } from '../jobs/table.ts'
import type { NodeRow } from '../nodes/model.ts'
import { nodeById } from '../nodes/queries.ts'
import { liveNameOf } from './live-names-model.ts'
import type { AllocationRow } from './model.ts'
import { PlanDraft, versionKeyOf, type PlanFound } from './plan-draft-commands.ts'
import { Plan, type PlanOutcome } from './plan-model.ts'
import { allocationById, namesTaken, takenOf } from './queries.ts'
import { workingJobs } from './work-commands.ts'

export const applyPlan = defineCommand({
  type: 'allocations.plan',
  since: settledWorkloadsVersion,
  args: Plan,
  load: async (reader, plan): Promise<PlanFound | null> => {
    const evaluation = evaluationById(reader, plan.evaluation)
    if (evaluation === null || isOver(evaluation)) return null
    const { place, update, stop, unknown = [], followUp } = plan
    const rows = rowsOf(reader, [
      ...[...stop, ...update].map(({ id }) => id),
      ...unknown,
      ...(followUp?.ids ?? []),
      ...place.flatMap(({ id, previous }) => (previous === '' ? [id] : [id, previous])),
      ...place.flatMap(({ preempts = [] }) => preempts),
    ])
    const written = new Set([plan.evaluation, ...plan.evaluations.map(({ id }) => id)])
    const nodeIds = new Set([...place, ...rows.values()].map(({ nodeId }) => nodeId))
    const free = new Set([...stop.map(({ id }) => id), ...unknown])
    const deployments = deploymentsOf(reader, plan, rows.values())
    return {
      evaluation,
      rows,
      // Where something is placed it lives, or it was refused and the evaluation stays open.
      jobs: await workingJobs(
        reader,
        [evaluation, ...rows.values()],
        written,
        (key) => place.length > 0 && keyOfJob(key) === keyOfJob(evaluation),
      ),
      nodes: nodesOf(reader, nodeIds),
      taken: takenOf(reader, nodeIds),
      names: await namesTaken(
        reader,
        evaluation,
        place.map((placed) => liveNameOf(evaluation.type, placed)),
        free,
      ),
      versions: versionsKnown(reader, evaluation, plan, rows),
      deployments,
      changesCounts: reader.commandVersion >= systemDeploymentsVersion,
      successes: successesOf(reader, plan, deployments),
      evaluations: new Map(
        plan.evaluations.flatMap(({ id }) => {
          const row = evaluationById(reader, id)
          return row === null ? [] : [[id, row]]
        }),
      ),
    }
  },
  apply: ({ index }, plan, found): Applied<PlanOutcome> => {
    if (found === null) return { changes: [], outcome: stalePlan }
    const draft = new PlanDraft(plan, found, index)
    return { changes: draft.changes(), outcome: draft.outcome() }
  },
})

const stalePlan: PlanOutcome = {
  stale: true,
  refused: [],
  nodes: [],
  preempted: [],
  evaluations: [],
}

function rowsOf(reader: Reader, ids: Iterable<string>): ReadonlyMap<string, AllocationRow> {
  const rows = new Map<string, AllocationRow>()
  for (const id of ids) {
    const row = allocationById(reader, id)
    if (row !== null) rows.set(id, row)
  }
  return rows
}

function nodesOf(reader: Reader, ids: ReadonlySet<string>): ReadonlyMap<string, NodeRow> {
  const nodes = new Map<string, NodeRow>()
  for (const id of ids) {
    const row = nodeById(reader, id)
    if (row !== null) nodes.set(id, row)
  }
  return nodes
}

function versionsKnown(
  reader: Reader,
  { namespace, jobId }: EvaluationRow,
  { place, update }: Plan,
  rows: ReadonlyMap<string, AllocationRow>,
): ReadonlySet<string> {
  const named = [
    ...place,
    ...update.flatMap(({ id, jobVersion }) => {
      const jobCreateIndex = rows.get(id)?.jobCreateIndex
      return jobCreateIndex === undefined ? [] : [{ jobCreateIndex, jobVersion }]
    }),
  ]
  const known = new Set<string>()
  for (const { jobCreateIndex, jobVersion: version } of named) {
    const key = versionKeyOf(jobCreateIndex, version)
    if (known.has(key)) continue
    const row = versionOf(reader, { namespace, id: jobId, jobCreateIndex, version })
    if (row !== null) known.add(key)
  }
  return known
}

/** Those that the plan makes or ends, and those of allocations that it changes. */
function deploymentsOf(
  reader: Reader,
  { place, update, deployment, deploymentEnds = [] }: Plan,
  rows: Iterable<AllocationRow>,
): ReadonlyMap<string, DeploymentRow> {
  const ids = [...place, ...update, ...rows].flatMap(({ deploymentId }) => deploymentId ?? [])
  const named = deployment === undefined ? [] : [deployment.id]
  const found = new Map<string, DeploymentRow>()
  for (const id of new Set([...ids, ...named, ...deploymentEnds.map((end) => end.id)])) {
    const row = deploymentById(reader, id)
    if (row !== null) found.set(id, row)
  }
  return found
}

/** By deployment that ends well, the version of the job that is stable with it. */
function successesOf(
  reader: Reader,
  { deploymentEnds = [] }: Plan,
  deployments: ReadonlyMap<string, DeploymentRow>,
): ReadonlyMap<string, JobVersionRow> {
  const successes = new Map<string, JobVersionRow>()
  for (const { id, status } of deploymentEnds) {
    const row = deployments.get(id)
    if (row === undefined || status !== 'successful') continue
    const { namespace, jobId, jobCreateIndex, jobVersion } = row
    const version = versionOf(reader, {
      namespace,
      id: jobId,
      jobCreateIndex,
      version: jobVersion,
    })
    if (version !== null) successes.set(id, version)
  }
  return successes
}
