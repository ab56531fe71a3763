/** The deployment of a job as a decision finds it: whether it concerns the newest version, what it allows, and how it ends. */
import type { AllocationRow } from '../domains/allocations/model.ts'
import {
  descriptions,
  isActive,
  isCanarying,
  type DeploymentEnd,
  type DeploymentRow,
  type GroupState,
  type NewDeployment,
} from '../domains/deployments/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import type { ScheduledJob } from './scheduled-job.ts'
import { isOfVersion } from './updates.ts'

type WantedGroup = NewDeployment['groups'][number]

/** What a decision does about deployments. */
export type DeploymentDecision = {
  readonly create: NewDeployment | null
  /** The one under way, with groups that want other counts than before. */
  readonly resize: NewDeployment | null
  readonly ends: readonly DeploymentEnd[]
}

/** What a group says of it. */
export type GroupRollout = {
  /** Of a new deployment, or of the one under way if the counts changed; null: the group needs none, or all stays. */
  readonly wanted: WantedGroup | null
  /** It has all that it is to have, of the newest version and healthy. Of a group that is none of the deployment: nothing of it changes. */
  readonly isComplete: boolean
  /** No node can run it now: it is complete, but a deployment does not succeed by such groups alone. */
  readonly isVoid: boolean
}

/** The deployment that placements of the newest version count in. */
export type Led = {
  /** Null: none. */
  readonly id: string | null
  readonly isNew: boolean
  readonly groups: ReadonlySet<string>
}

export class Rollout {
  /** Of the job's newest version: it goes on, or it failed. */
  readonly current: DeploymentRow | null
  /** The newest version had its deployment, whatever became of it: it gets no second one. */
  readonly wasDeployed: boolean
  readonly #newest: DeploymentRow | null
  readonly #job: ScheduledJob | null

  /** `newest`: the last one of the job, whatever it came to. */
  constructor(job: ScheduledJob | null, newest: DeploymentRow | null) {
    this.#job = job
    this.#newest = newest
    this.wasDeployed = job !== null && newest !== null && isOfVersion(newest, job)
    const goesOn = newest !== null && (isActive(newest) || newest.status === 'failed')
    this.current = this.wasDeployed && job?.stop === false && goesOn ? newest : null
  }

  /** That allocations are placed for now. */
  get active(): DeploymentRow | null {
    return this.current !== null && isActive(this.current) ? this.current : null
  }

  /** Null: the group is none of the deployment. */
  stateOf(group: TaskGroup): GroupState | null {
    return this.current?.groups.find((state) => state.group === group.Name) ?? null
  }

  /** Canaries stand beside the rest of their group. */
  isCanary(row: AllocationRow): boolean {
    return this.#isUnpromoted(row) && this.active !== null
  }

  /** A canary of a deployment that is over: it has no place. */
  isStray(row: AllocationRow): boolean {
    return this.#isUnpromoted(row) && !this.isCanary(row)
  }

  /** What failed with a deployment that failed is not tried again. */
  isGivenUp({ deploymentId }: AllocationRow): boolean {
    return this.current?.status === 'failed' && deploymentId === this.current.id
  }

  /** Whether the newest version replaces older ones and fills what is missing; canaries aside. */
  get isMoving(): boolean {
    return this.current === null || this.current.status === 'running'
  }

  /** `begins`: names of groups that need a new deployment. */
  led(begins: readonly string[], newId: () => string): Led {
    if (begins.length > 0) return { id: newId(), isNew: true, groups: new Set(begins) }
    const groups = new Set(this.active?.groups.map(({ group }) => group))
    return { id: this.active?.id ?? null, isNew: false, groups }
  }

  /** `groups`: those of the job. */
  decision(groups: readonly GroupRollout[], { id, isNew }: Led): DeploymentDecision {
    const wanted = groups.flatMap((group) => group.wanted ?? [])
    const changed = id === null || wanted.length === 0 ? null : { id, groups: wanted }
    return {
      create: isNew ? changed : null,
      resize: isNew ? null : changed,
      ends: this.#ends(groups),
    }
  }

  #ends(groups: readonly GroupRollout[]): readonly DeploymentEnd[] {
    const newest = this.#newest
    if (newest === null || !isActive(newest)) return []
    const { id } = newest
    const cancelled = (statusDescription: string): readonly DeploymentEnd[] => [
      { id, status: 'cancelled', statusDescription },
    ]
    if (this.#job === null || this.#job.stop) return cancelled(descriptions.jobStopped)
    if (this.current === null) return cancelled(descriptions.newerJob)
    const isComplete = groups.every((group) => group.isComplete)
    const isVoid = groups.length > 0 && groups.every((group) => group.isVoid)
    if (newest.status !== 'running' || !isComplete || isVoid) return []
    return [{ id, status: 'successful', statusDescription: descriptions.successful }]
  }

  #isUnpromoted({ canary, deploymentId, group }: AllocationRow): boolean {
    if (canary !== true || this.#newest === null || deploymentId !== this.#newest.id) return false
    return this.#newest.groups.some((state) => state.group === group && isCanarying(state))
  }
}

/** Updates of a service job are deployments. */
export function isDeployed({ spec }: ScheduledJob, group: TaskGroup): boolean {
  return spec.Type === 'service' && hasLimit(group)
}

/** Without a limit there is nothing to lead. */
export function hasLimit({ Update }: TaskGroup): boolean {
  return Update !== null && Update.MaxParallel > 0
}

export function wantedGroup(
  group: TaskGroup,
  counts: Pick<WantedGroup, 'desiredCanaries' | 'desiredTotal'>,
): WantedGroup {
  const { Update } = group
  return {
    group: group.Name,
    autoRevert: Update?.AutoRevert ?? false,
    autoPromote: Update?.AutoPromote ?? false,
    progressDeadlineMs: Math.ceil((Update?.ProgressDeadline ?? 0) / 1e6),
    ...counts,
  }
}
