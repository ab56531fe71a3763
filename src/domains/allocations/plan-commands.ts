/**
 * What scheduler workers decided, checked against the newest state: their view may be older. What does not stand any more is refused
 * and named, the rest is done.
 */
import { defineCommand } from '../define.ts'
import { isTerminal as isOver, workloadsVersion, type EvaluationRow } from '../evaluations/model.ts'
import { evaluationById } from '../evaluations/queries.ts'
import type { Applied, Reader } from '../../fsm/domain.ts'
import { versionOf } from '../jobs/queries.ts'
import type { NodeRow } from '../nodes/model.ts'
import { nodeById } from '../nodes/queries.ts'
import type { AllocatedResources, AllocationRow, NewAllocation } from './model.ts'
import { nameKeyOf, PlanDraft, versionKeyOf, type PlanFound } from './plan-draft-commands.ts'
import { Plan, type PlanOutcome } from './plan-model.ts'
import { allocationById, allocationsOnNode, isNameTaken } from './queries.ts'
import { workingJobs } from './work-commands.ts'

export const applyPlan = defineCommand({
  type: 'allocations.plan',
  since: workloadsVersion,
  args: Plan,
  load: async (reader, plan): Promise<PlanFound | null> => {
    const evaluation = evaluationById(reader, plan.evaluation)
    if (evaluation === null || isOver(evaluation)) return null
    const { place, update, stop } = plan
    const rows = rowsOf(reader, [
      ...[...stop, ...update].map(({ id }) => id),
      ...place.flatMap(({ id, previous }) => (previous === '' ? [id] : [id, previous])),
    ])
    const written = new Set([plan.evaluation, ...plan.evaluations.map(({ id }) => id)])
    const nodeIds = [...place, ...rows.values()].map(({ nodeId }) => nodeId)
    const ended = new Set(stop.map(({ id }) => id))
    return {
      evaluation,
      rows,
      jobs: await workingJobs(reader, [evaluation, ...rows.values()], written),
      nodes: nodesOf(reader, nodeIds),
      taken: await takenOn(
        reader,
        place.map(({ nodeId }) => nodeId),
        ended,
      ),
      names: await namesTaken(reader, evaluation, place, ended),
      versions: versionsKnown(reader, evaluation, plan, rows),
      evaluations: new Map(
        plan.evaluations.flatMap(({ id }) => {
          const row = evaluationById(reader, id)
          return row === null ? [] : [[id, row]]
        }),
      ),
    }
  },
  apply: ({ index }, plan, found): Applied<PlanOutcome> => {
    if (found === null) return { changes: [], outcome: { stale: true, refused: [], nodes: [] } }
    const draft = new PlanDraft(plan, found, index)
    return { changes: draft.changes(), outcome: draft.outcome() }
  },
})

function rowsOf(reader: Reader, ids: Iterable<string>): ReadonlyMap<string, AllocationRow> {
  const rows = new Map<string, AllocationRow>()
  for (const id of ids) {
    const row = allocationById(reader, id)
    if (row !== null) rows.set(id, row)
  }
  return rows
}

function nodesOf(reader: Reader, ids: Iterable<string>): ReadonlyMap<string, NodeRow> {
  const nodes = new Map<string, NodeRow>()
  for (const id of new Set(ids)) {
    const row = nodeById(reader, id)
    if (row !== null) nodes.set(id, row)
  }
  return nodes
}

/** As Nomad does, what the plan stops gives its place to what the plan puts there; from the next plan on it counts until it ended. */
async function takenOn(
  reader: Reader,
  nodeIds: Iterable<string>,
  ended: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly AllocatedResources[]>> {
  const taken = new Map<string, readonly AllocatedResources[]>()
  for (const nodeId of new Set(nodeIds)) {
    const here: AllocatedResources[] = []
    for await (const page of allocationsOnNode(reader, nodeId)) {
      for (const { id, resources } of page) if (!ended.has(id)) here.push(resources)
    }
    taken.set(nodeId, here)
  }
  return taken
}

async function namesTaken(
  reader: Reader,
  evaluation: EvaluationRow,
  place: readonly NewAllocation[],
  except: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const taken = new Set<string>()
  for (const placed of place) {
    const key = nameKeyOf(evaluation.type, placed)
    if (await isNameTaken(reader, evaluation, key, except)) taken.add(JSON.stringify(key))
  }
  return taken
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
