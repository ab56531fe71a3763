/** A plan as it is applied: one thing after another, each against what those before it left. */
import type { Change } from '../../fsm/domain.ts'
import { insert, put, replace } from '../define.ts'
import { isActive, isFulfilled, type DeploymentRow } from '../deployments/model.ts'
import { newDeployment, withCounts, withStatus } from '../deployments/state-model.ts'
import {
  derivedId,
  isTerminal as isOver,
  type EvaluationRow,
  keyOfJob,
} from '../evaluations/model.ts'
import { evaluations } from '../evaluations/table.ts'
import { evaluationOf } from '../jobs/job-evaluation-model.ts'
import { jobVersions, type JobVersionRow } from '../jobs/table.ts'
import type { NodeRow } from '../nodes/model.ts'
import { DeploymentDrafts } from './deployed-commands.ts'
import { besideOf, liveNameOf, type LiveNames } from './live-names-model.ts'
import {
  isClientTerminal,
  isTerminal,
  takesPlace,
  type AllocationRow,
  type NewAllocation,
} from './model.ts'
import type { Plan, PlanOutcome } from './plan-model.ts'
import { lackingOn } from './room-model.ts'
import { allocations } from './table.ts'
import { Taken, takenChanges, type TakenRow } from './taken-model.ts'
import { jobChanges, JobWork, type WorkingJob } from './work-commands.ts'

/** What the state has of it. */
export type PlanFound = {
  readonly evaluation: EvaluationRow
  /** Allocations that the plan names. */
  readonly rows: ReadonlyMap<string, AllocationRow>
  readonly jobs: ReadonlyMap<string, WorkingJob>
  readonly nodes: ReadonlyMap<string, NodeRow>
  /** By node, what its allocations take. */
  readonly taken: ReadonlyMap<string, TakenRow>
  /** Of those that run already. The draft adds to it. */
  readonly names: LiveNames
  /** See `versionKeyOf`. */
  readonly versions: ReadonlySet<string>
  readonly evaluations: ReadonlyMap<string, EvaluationRow>
  readonly deployments: ReadonlyMap<string, DeploymentRow>
  /** The cluster knows `systemDeploymentsVersion`. */
  readonly changesCounts: boolean
  /** By deployment that ends well. */
  readonly successes: ReadonlyMap<string, JobVersionRow>
}

export function versionKeyOf(jobCreateIndex: number, version: number): string {
  return `${jobCreateIndex}.${version}`
}

type Stop = Plan['stop'][number]
type Update = Plan['update'][number]
type End = NonNullable<Plan['deploymentEnds']>[number]

export class PlanDraft {
  readonly #plan: Plan
  readonly #found: PlanFound
  readonly #index: number
  /** As the plan leaves them, of those that it changes. */
  readonly #changed = new Map<string, AllocationRow>()
  readonly #placed: AllocationRow[] = []
  /** As Nomad has it, what the plan stops gives its place to what it puts there; from the next plan on it counts until it ended. */
  readonly #taken = new Map<string, Taken>()
  readonly #ids: Set<string>
  readonly #work = new Map<string, JobWork>()
  readonly #deployments: DeploymentDrafts
  readonly #stable: JobVersionRow[] = []
  readonly #refused: { id: string; nodeId: string; reason: string }[] = []
  readonly #preempted = new Set<string>()
  /** Of each job that lost a place. */
  readonly #preemptions: readonly EvaluationRow[]

  constructor(plan: Plan, found: PlanFound, index: number) {
    this.#plan = plan
    this.#found = found
    this.#index = index
    this.#ids = new Set(found.rows.keys())
    this.#deployments = new DeploymentDrafts(found.deployments, { index, nowMs: plan.nowMs })
    const isStale = (this.#job?.row.jobModifyIndex ?? 0) !== plan.jobModifyIndex
    if (!isStale) this.#deploy()
    for (const one of plan.stop) this.#settle(one, isStale ? jobChanged : this.#stop(one))
    for (const id of plan.unknown ?? []) {
      this.#settle({ id }, isStale ? jobChanged : this.#cutOff(id))
    }
    for (const one of plan.update) this.#settle(one, isStale ? jobChanged : this.#update(one))
    for (const one of plan.place) this.#settle(one, isStale ? jobChanged : this.#place(one))
    for (const id of plan.followUp?.ids ?? []) {
      this.#settle({ id }, isStale ? jobChanged : this.#follow(id))
    }
    if (!isStale) for (const end of plan.deploymentEnds ?? []) this.#end(end)
    this.#preemptions = this.#evaluationsOfPreempted()
  }

  changes(): readonly Change[] {
    const written = this.#evaluationsWritten()
    const placed = this.#placed.map((row) => this.#changed.get(row.id) ?? row)
    const moved = [...this.#changed.values()].flatMap((row) => {
      const before = this.#found.rows.get(row.id)
      return before === undefined ? [] : [[before, row] as const]
    })
    return [
      ...placed.map((row) => insert(allocations, row)),
      ...moved.map(([before, row]) => replace(allocations, before, row)),
      ...takenChanges(this.#found.taken, [...placed.map((row) => [null, row] as const), ...moved]),
      ...this.#deployments.changes(),
      ...this.#stable.map((row) => replace(jobVersions, row, { ...row, stable: true })),
      ...written.map((row) => put(evaluations, row)),
      ...this.#jobChanges(written),
    ]
  }

  outcome(): PlanOutcome {
    const nodes = [...this.#placed, ...this.#changed.values()].map(({ nodeId }) => nodeId)
    return {
      stale: false,
      refused: this.#refused,
      nodes: [...new Set(nodes)],
      preempted: [...this.#preempted],
      evaluations: this.#preemptions.map(({ id }) => id),
    }
  }

  get #job(): WorkingJob | null {
    return this.#found.jobs.get(keyOfJob(this.#found.evaluation)) ?? null
  }

  /** The job was stopped so, and was not registered again. */
  get #skipsDelay(): boolean {
    return this.#found.evaluation.skipsDelay === true && this.#job?.row.stop !== false
  }

  #settle({ id, nodeId = '' }: { id: string; nodeId?: string }, reason: string | null): void {
    if (reason !== null) this.#refused.push({ id, nodeId, reason })
  }

  /** It is there already where an earlier entry of the plan made it, or where it wants other counts than before. */
  #deploy(): void {
    const { deployment, nowMs } = this.#plan
    const job = this.#job?.row
    if (deployment === undefined || job === undefined) return
    const moment = { index: this.#index, nowMs }
    const before = this.#deployments.of(deployment.id)
    if (before === null) {
      const { priority } = this.#found.evaluation
      this.#deployments.set(newDeployment(deployment, job, priority, moment))
    } else if (this.#found.changesCounts && isActive(before) && this.#isOfJob(before)) {
      this.#deployments.set(withCounts(before, deployment.groups, moment))
    }
  }

  /** What changed since the worker looked may not be fulfilled any more: the report that changed it has the job looked at again. */
  #end({ id, status, statusDescription }: End): void {
    const row = this.#deployments.of(id)
    if (row === null || !isActive(row) || !this.#isOfJob(row)) return
    if (status === 'successful' && !isFulfilled(row)) return
    const moment = { index: this.#index, nowMs: this.#plan.nowMs }
    this.#deployments.set(withStatus(row, { status, statusDescription }, moment))
    const version = this.#found.successes.get(id)
    if (status !== 'successful' || version === undefined) return
    this.#stable.push(version)
    this.#workOf(row).stableVersion = version.version
  }

  #rowOf(id: string): AllocationRow | undefined {
    return this.#changed.get(id) ?? this.#found.rows.get(id)
  }

  #isOfJob(row: Pick<AllocationRow, 'namespace' | 'jobId'>): boolean {
    return keyOfJob(row) === keyOfJob(this.#found.evaluation)
  }

  #change(row: AllocationRow): void {
    const { nowMs } = this.#plan
    const before = this.#rowOf(row.id)
    if (before !== undefined) this.#deployments.changed(before, row)
    this.#changed.set(row.id, { ...row, modifyMs: nowMs, modifyIndex: this.#index })
  }

  #workOf(row: Pick<AllocationRow, 'namespace' | 'jobId'>): JobWork {
    const key = keyOfJob(row)
    const work = this.#work.get(key) ?? new JobWork()
    this.#work.set(key, work)
    return work
  }

  #stop({ id, desiredStatus, desiredDescription, lost, followupEval }: Stop): string | null {
    const row = this.#rowOf(id)
    // It was collected, so it had ended.
    if (row === undefined) return null
    if (!this.#isOfJob(row) && desiredStatus !== 'evict') return 'it is of another job'
    const node = this.#found.nodes.get(row.nodeId)
    const isLost = lost && !isClientTerminal(row) && isSilent(node)
    if (isLost) {
      this.#workOf(row).counts.push({ group: row.group, from: row.clientStatus, to: 'lost' })
    }
    if (takesPlace(row)) this.#takenOf(row.nodeId).remove(row.resources)
    this.#change({
      ...row,
      desiredStatus,
      desiredDescription,
      ...(this.#skipsDelay && this.#isOfJob(row) && { skipsDelay: true }),
      followupEval: followupEval === '' ? row.followupEval : followupEval,
      clientStatus: isLost ? 'lost' : row.clientStatus,
      clientDescription: isLost ? lostDescription : row.clientDescription,
      allocModifyIndex: this.#index,
    })
    return null
  }

  /** Where its node is back already, it has its name all the same. */
  #cutOff(id: string): string | null {
    const row = this.#rowOf(id)
    if (row === undefined || isTerminal(row) || row.clientStatus === 'unknown') return null
    if (!this.#isOfJob(row)) return 'it is of another job'
    if (this.#found.nodes.get(row.nodeId)?.status !== 'disconnected') {
      this.#found.names.add(liveNameOf(this.#found.evaluation.type, row), besideOf(row))
      return 'its node is not cut off'
    }
    this.#workOf(row).counts.push({ group: row.group, from: row.clientStatus, to: 'unknown' })
    // So its agent, once it is back, sees a change and says anew what became of it.
    const allocModifyIndex = this.#index
    const clientDescription = unknownDescription
    this.#change({ ...row, clientStatus: 'unknown', clientDescription, allocModifyIndex })
    return null
  }

  /** Its times stay: they say when it ended, and from when its delay counts. */
  #follow(id: string): string | null {
    const row = this.#rowOf(id)
    if (row === undefined) return null
    if (!this.#isOfJob(row)) return 'it is of another job'
    const followupEval = this.#plan.followUp?.evaluation ?? row.followupEval
    this.#changed.set(id, { ...row, followupEval, modifyIndex: this.#index })
    return null
  }

  #update({ id, jobVersion, metrics, deploymentId }: Update): string | null {
    const row = this.#rowOf(id)
    if (row === undefined || isTerminal(row)) return 'it has ended'
    if (!this.#isOfJob(row)) return 'it is of another job'
    if (!this.#found.versions.has(versionKeyOf(row.jobCreateIndex, jobVersion))) return noVersion
    const { deploymentId: _left, canary: _promoted, ...rest } = row
    const after: AllocationRow = {
      ...rest,
      ...(deploymentId !== undefined && { deploymentId }),
      jobVersion,
      metrics,
      evalId: this.#plan.evaluation,
      health: null,
      allocModifyIndex: this.#index,
    }
    this.#change(after)
    this.#deployments.placed(after)
    return null
  }

  #place(placed: NewAllocation): string | null {
    if (!this.#isOfJob(placed)) return 'it is of another job'
    if (this.#ids.has(placed.id)) return 'its id is taken'
    if (!this.#found.versions.has(versionKeyOf(placed.jobCreateIndex, placed.jobVersion))) {
      return noVersion
    }
    const name = liveNameOf(this.#found.evaluation.type, placed)
    const beside = besideOf(placed)
    if (this.#found.names.has(name, beside)) return 'one of its name runs'
    const node = this.#found.nodes.get(placed.nodeId)
    if (node === undefined) return 'the node is gone'
    if (node.status !== 'ready') return `the node is ${node.status}`
    if (!node.eligible || node.drain !== null) return 'the node is not eligible'
    const preempted = this.#preemptedFor(placed)
    if (preempted === null) return 'it would preempt what is of its own job, or elsewhere'
    const taken = this.#takenOf(node.id)
    for (const { resources } of preempted) taken.remove(resources)
    const lacking = lackingOn(node, taken, placed.resources)
    if (lacking !== null) {
      for (const { resources } of preempted) taken.add(resources)
      return `the node has too little ${lacking}`
    }
    taken.add(placed.resources)
    this.#found.names.add(name, beside)
    this.#ids.add(placed.id)
    this.#add(placed)
    for (const row of preempted) this.#preempt(row, placed.id)
    return null
  }

  /** That end for it: without those that have ended, whose place is free anyway. Null: they may not. */
  #preemptedFor({ preempts = [], nodeId }: NewAllocation): readonly AllocationRow[] | null {
    const rows: AllocationRow[] = []
    for (const id of preempts) {
      const row = this.#rowOf(id)
      if (row === undefined || isClientTerminal(row) || this.#preempted.has(id)) continue
      if (row.nodeId !== nodeId || this.#isOfJob(row)) return null
      rows.push(row)
    }
    return rows
  }

  #preempt(row: AllocationRow, by: string): void {
    this.#preempted.add(row.id)
    this.#workOf(row)
    this.#change({
      ...row,
      desiredStatus: 'evict',
      desiredDescription: `Preempted by alloc ID ${by}`,
      preemptedBy: by,
      allocModifyIndex: this.#index,
    })
  }

  #evaluationsOfPreempted(): readonly EvaluationRow[] {
    const moment = { index: this.#index, nowMs: this.#plan.nowMs }
    const keys = new Set<string>()
    return [...this.#preempted].flatMap((id) => {
      const row = this.#rowOf(id)
      if (row === undefined || keys.has(keyOfJob(row))) return []
      keys.add(keyOfJob(row))
      const job = this.#found.jobs.get(keyOfJob(row))?.row
      if (job === undefined) return []
      const evaluation = derivedId(moment, 'preemption', row.namespace, row.jobId)
      return [evaluationOf(job, { id: evaluation, triggeredBy: 'preemption' }, moment)]
    })
  }

  #add(placed: NewAllocation): void {
    const { nowMs } = this.#plan
    const row: AllocationRow = {
      ...placed,
      desiredStatus: 'run',
      desiredDescription: '',
      migrate: false,
      clientStatus: 'pending',
      clientDescription: '',
      tasks: [],
      health: null,
      next: '',
      followupEval: '',
      createMs: nowMs,
      modifyMs: nowMs,
      allocModifyIndex: this.#index,
      createIndex: this.#index,
      modifyIndex: this.#index,
    }
    this.#placed.push(row)
    this.#deployments.placed(row)
    this.#workOf(row).counts.push({ group: row.group, from: null, to: 'pending' })
    const previous = this.#rowOf(row.previous)
    if (previous !== undefined && this.#isOfJob(previous)) {
      this.#change({ ...previous, next: row.id })
    }
  }

  #takenOf(nodeId: string): Taken {
    const taken = this.#taken.get(nodeId) ?? new Taken(this.#found.taken.get(nodeId))
    this.#taken.set(nodeId, taken)
    return taken
  }

  /**
   * Those that are due later stand for allocations that the plan stops. What became of the evaluation itself, and what waits for
   * room, is known only when nothing was refused.
   */
  #evaluationsWritten(): readonly EvaluationRow[] {
    const isWhole = this.#refused.length === 0
    const written = this.#plan.evaluations
      .filter(({ id, status }) => isWhole || (id !== this.#plan.evaluation && status === 'pending'))
      .map((evaluation) => ({
        ...evaluation,
        createIndex: this.#found.evaluations.get(evaluation.id)?.createIndex ?? this.#index,
        modifyIndex: this.#index,
      }))
    return [...written, ...this.#preemptions]
  }

  #jobChanges(written: readonly EvaluationRow[]): readonly Change[] {
    const own = keyOfJob(this.#found.evaluation)
    if (!this.#work.has(own)) this.#work.set(own, new JobWork())
    for (const [key, work] of this.#work) {
      const ofJob = written.filter((evaluation) => keyOfJob(evaluation) === key)
      const itself = ofJob.find(({ id }) => id === this.#plan.evaluation)
      work.queued = itself?.queued ?? null
      // The evaluation stays open where it is not written.
      const isOpen = key === own && itself === undefined
      work.openEvaluations = isOpen || ofJob.some((evaluation) => !isOver(evaluation))
    }
    return jobChanges(this.#work, this.#found.jobs, this.#index)
  }
}

const jobChanged = 'the job changed'
const noVersion = 'the version of the job is gone'
const lostDescription = 'the node is lost'
const unknownDescription = 'alloc is unknown since its node is disconnected'

/** The agent of a node that is back says itself what becomes of its allocations. */
function isSilent(node: NodeRow | undefined): boolean {
  return node === undefined || node.status === 'down' || node.status === 'disconnected'
}
