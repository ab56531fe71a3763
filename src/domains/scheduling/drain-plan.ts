/** What a drain of a node would do to each allocation there, on a state as it is: nothing is written. */
import { randomUUID } from 'node:crypto'
import type { Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { isTerminal, type AllocationRow } from '../allocations/model.ts'
import { leftOn } from '../drains/queries.ts'
import type { Draining } from '../drains/step-model.ts'
import { keyOfJob, type Metrics } from '../evaluations/model.ts'
import type { Decision } from '../../scheduler/decision.ts'
import { Patterns } from '../../scheduler/operands.ts'
import type { ScheduledJob } from '../../scheduler/reconcile.ts'
import { ClusterMirror } from './cluster-mirror.ts'
import { decide, scheduledJobOf, seenJob, type DecideContext, type SeenJob } from './decide.ts'

/** `move`: to another node. `wait`: no other has a place. `end`: it may run to its end. `stop`: nothing takes its place. */
export const drainActions = ['move', 'wait', 'end', 'stop', 'stay'] as const
export type DrainAction = (typeof drainActions)[number]

export type PlannedDrain = {
  readonly row: AllocationRow
  readonly action: DrainAction
  readonly reason: string
  /** Where it would go; null: nowhere. */
  readonly to: { readonly id: string; readonly name: string } | null
  /** Why there is no place; null: that is not so. */
  readonly metrics: Metrics | null
}

export type DrainAsked = { readonly force: boolean; readonly ignoresSystem: boolean }

export async function drainPlan(
  reader: Reader,
  node: string,
  asked: DrainAsked,
  clock: Clock,
): Promise<readonly PlannedDrain[]> {
  const cluster = await ClusterMirror.of(reader)
  cluster.drain(node)
  const left = await leftOn(reader, node)
  const moving = left.filter((one) => one.kind === 'service' && !isTerminal(one.row))
  const jobs = Map.groupBy(moving, ({ row }) => keyOfJob(row))
  const moved = new Map<string, PlannedDrain>()
  for (const rows of jobs.values()) {
    const [first] = rows
    if (first === undefined) continue
    const seen = await seenJob(reader, first.row, { clock })
    const ids = new Set(rows.map(({ row }) => row.id))
    for (const one of movesOf(seen, ids, { reader, cluster, clock })) moved.set(one.row.id, one)
  }
  return left.map((one) => moved.get(one.row.id) ?? without(one, asked))
}

/** Of one job. What it gets counts for those that come after it. */
function movesOf(
  seen: SeenJob,
  ids: ReadonlySet<string>,
  {
    reader,
    cluster,
    clock,
  }: Pick<DecideContext, 'reader' | 'clock'> & { readonly cluster: ClusterMirror },
): readonly PlannedDrain[] {
  const allocations = seen.allocations.map((row) =>
    ids.has(row.id) ? { ...row, migrate: true } : row,
  )
  const [any] = allocations
  if (any === undefined) return []
  const { namespace, jobId } = any
  const evaluation = { id: randomUUID(), namespace, jobId, triggeredBy: 'node-drain' as const }
  const job = scheduledJobOf(seen)
  const context = { reader, cluster, clock, patterns: new Patterns() }
  const decision = decide({ ...seen, allocations }, job, evaluation, context)
  cluster.reserve(decision.place.map(({ allocation }) => allocation))
  return allocations.flatMap((row) => (ids.has(row.id) ? [moveOf(row, job, decision)] : []))
}

function moveOf(row: AllocationRow, job: ScheduledJob | null, decision: Decision): PlannedDrain {
  const placed = decision.place.find(({ allocation }) => allocation.previous === row.id)
  if (placed !== undefined) {
    const { nodeId: id, nodeName: name } = placed.allocation
    return { row, action: 'move', reason: paceOf(row, job), to: { id, name }, metrics: null }
  }
  const isWanted = decision.queued.some(([group, count]) => group === row.group && count > 0)
  if (isWanted) {
    const [, metrics = null] = decision.failed.find(([group]) => group === row.group) ?? []
    const reason = 'no other node has a place: it is stopped, and its job waits for one'
    return { row, action: 'wait', reason, to: null, metrics }
  }
  return {
    row,
    action: 'stop',
    reason: 'its job does not want it any more',
    to: null,
    metrics: null,
  }
}

function paceOf({ group }: AllocationRow, job: ScheduledJob | null): string {
  const found = job?.spec.TaskGroups.find(({ Name }) => Name === group)
  const most = Math.max(1, found?.Migrate?.MaxParallel ?? 1)
  return `of its group ${most} at a time move`
}

/** What is placed nowhere else. */
function without({ row, kind }: Draining, { force, ignoresSystem }: DrainAsked): PlannedDrain {
  const planned = (action: DrainAction, reason: string): PlannedDrain => ({
    row,
    action,
    reason,
    to: null,
    metrics: null,
  })
  if (isTerminal(row)) return planned('stop', 'it was told to stop already')
  if (kind === 'system' && ignoresSystem) return planned('stay', 'it is system work')
  const atOnce = force ? 'it is stopped at once' : null
  if (kind === 'system') {
    return planned('stop', atOnce ?? 'system work is stopped once all other work is gone')
  }
  return force
    ? planned('stop', 'it is stopped at once, and batch work is not begun again')
    : planned('end', 'batch work may run to its end, until the deadline of the drain')
}
