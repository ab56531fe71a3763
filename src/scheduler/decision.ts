/** What an evaluation is decided on, and what was decided. */
import type { AllocationRow, NewAllocation } from '../domains/allocations/model.ts'
import type { Plan } from '../domains/allocations/plan-model.ts'
import type { DeploymentRow } from '../domains/deployments/model.ts'
import type { EvaluationRow, Metrics } from '../domains/evaluations/model.ts'
import type { JobSpec } from '../domains/jobs/model.ts'
import type { DrainStrategy } from '../domains/nodes/model.ts'
import type { SchedulerSettings } from '../domains/scheduler-settings/model.ts'
import type { Random } from '../lib/random.ts'
import type { NodeUsage } from './node-usage.ts'
import type { Patterns } from './operands.ts'
import type { WorkOn } from './preempt.ts'
import type { DeploymentDecision } from './rollout.ts'
import type { Awaiting, ScheduledJob } from './scheduled-job.ts'
import type { ScheduledNode } from './scheduled-node.ts'

export type KnownNode = {
  readonly node: ScheduledNode
  readonly isDown: boolean
  /** Since when it is cut off; null: it is not. */
  readonly cutOffMs: number | null
  /** Null: it is not drained. */
  readonly drain: DrainStrategy | null
}

/** The nodes as they are. */
export type Cluster = {
  /** Those that take work, in datacenters that match, and how many by datacenter. */
  ready(matches: (datacenter: string) => boolean): {
    readonly nodes: readonly ScheduledNode[]
    readonly available: Metrics['nodesAvailable']
  }
  /** Null: there is none. */
  find(id: string): KnownNode | null
  usageOf(id: string): NodeUsage
}

export type ScheduleInput = {
  readonly evaluation: Pick<
    EvaluationRow,
    'id' | 'namespace' | 'jobId' | 'triggeredBy' | 'skipsDelay'
  >
  /** Null: there is none any more. */
  readonly job: ScheduledJob | null
  /** Of the job, also those that are over. */
  readonly allocations: readonly AllocationRow[]
  readonly specOf: (row: AllocationRow) => JobSpec | null
  /** The newest one of the job, whatever became of it; absent or null: there is none. */
  readonly deployment?: DeploymentRow | null
  /** Every server knows deployments of system jobs, see `systemDeploymentsVersion`. */
  readonly deploysSystemJobs: boolean
  readonly cluster: Cluster
  readonly settings: Pick<SchedulerSettings, 'algorithm' | 'preemption' | 'oversubscribesMemory'>
  /** Of other jobs. */
  readonly workOn: WorkOn
  readonly patterns: Patterns
  readonly random: Random
  readonly newId: () => string
  readonly nowMs: number
  readonly monotonicUs: () => number
}

/** An allocation that is placed, and the one that is stopped if it is. */
export type Placed = {
  readonly allocation: NewAllocation
  readonly stop: Plan['stop'][number] | null
}

export type Decision = {
  readonly stop: Plan['stop']
  readonly update: Plan['update']
  readonly place: readonly Placed[]
  /** By group, how many have no place yet. */
  readonly queued: readonly (readonly [group: string, count: number])[]
  /** By group, why. */
  readonly failed: readonly (readonly [group: string, metrics: Metrics])[]
  /** Ids of those that are cut off with their nodes and may come back. */
  readonly unknown: readonly string[]
  /** Those that wait: failed or lost and not placed anew yet, or cut off; and when for. */
  readonly awaiting: readonly Awaiting[]
  /** When a failed or lost allocation is to be placed anew; null: none waits. */
  readonly followUpMs: number | null
  /** When the first of those that are cut off is lost; null: none is. */
  readonly cutOffUntilMs: number | null
  readonly classes: ReadonlyMap<string, boolean>
  readonly escaped: boolean
  readonly deployment: DeploymentDecision
}
