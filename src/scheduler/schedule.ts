/** One evaluation: what is to be placed, changed and stopped for its job, and what has no place. */
import { isEveryNodeType, isJobType } from '../domains/evaluations/job-type-model.ts'
import { wasForced } from '../domains/nodes/model.ts'
import { datacenterMatch } from './datacenters.ts'
import type { Decision, ScheduleInput } from './decision.ts'
import { desiredUpdates, type DesiredUpdates } from './desired.ts'
import { Filling, stopOf } from './filling.ts'
import { Placer } from './place.ts'
import { Preemption } from './preempt.ts'
import { reconcileEverywhere, type GroupEverywhere } from './reconcile-everywhere.ts'
import { reconcile, type GroupReconciled } from './reconcile.ts'
import { noneRoomless, rolloutEverywhere } from './rollout-everywhere.ts'
import { Rollout, type GroupRollout } from './rollout.ts'
import type { ReconcileInput } from './scheduled-job.ts'
import { earliest } from './times.ts'
import { whereabouts } from './whereabouts.ts'

/** With what it means for each group, for a dry run. */
export type Scheduled = Decision & { readonly desired: ReadonlyMap<string, DesiredUpdates> }

/** Evaluations that only say that allocations failed, or what others of their deployment did. */
const failureTriggers: ReadonlySet<string> = new Set(['alloc-failure', 'deployment-watcher'])

export function schedule(input: ScheduleInput): Scheduled {
  const { job, cluster, patterns, random, monotonicUs } = input
  const matches = datacenterMatch(job?.spec.Datacenters ?? [])
  const { nodes, available } =
    job === null || job.stop ? { nodes: [], available: [] } : cluster.ready(matches)
  const placer =
    job === null
      ? null
      : new Placer({
          job: job.spec,
          nodes,
          available,
          usageOf: (id) => cluster.usageOf(id),
          patterns,
          random,
          monotonicUs,
          algorithm: input.settings.algorithm,
          oversubscribes: input.settings.oversubscribesMemory === true,
          preemption: mayPreempt(input) ? new Preemption(job.spec.Priority, input.workOn) : null,
        })
  const known = (id: string) => cluster.find(id)
  const common: ReconcileInput = {
    job,
    allocations: input.allocations,
    specOf: input.specOf,
    whereIs: (row) => whereabouts(row, input.specOf(row), known(row.nodeId), input.nowMs),
    isForced: (row) => {
      const drain = known(row.nodeId)?.drain ?? null
      return drain !== null && wasForced(drain, row)
    },
    isFeasible: ({ nodeId }, group) => {
      const found = known(nodeId)
      if (found === null || placer === null || !matches(found.node.datacenter)) return false
      return placer.isFeasible(found.node, group)
    },
    nowMs: input.nowMs,
    skipsDelay: input.evaluation.skipsDelay === true,
  }
  const isEverywhere = job !== null && isEveryNodeType(job.spec.Type)
  const rollout = new Rollout(job, input.deployment ?? null)
  const { groups, stop, followUpMs } = isEverywhere
    ? {
        ...reconcileEverywhere({
          ...common,
          nodes,
          mayRun: (node, group) => placer?.isFeasible(node, group) === true,
          isInReach: (id) => matches(known(id)?.node.datacenter ?? ''),
          keepsFailed: failureTriggers.has(input.evaluation.triggeredBy),
          rollout,
          deploysSystemJobs: input.deploysSystemJobs,
        }),
        followUpMs: null,
      }
    : reconcile(common, rollout)
  const led = rollout.led(
    groups.filter(beginsOne).map(({ group }) => group.Name),
    input.newId,
  )
  const deploymentOf = (group: string): string | null => (led.groups.has(group) ? led.id : null)
  const made =
    placer === null || job === null ? null : new Filling(input, job, placer, deploymentOf)
  for (const one of stop) made?.stopped(one)
  for (const plan of groups) made?.keep(plan)
  for (const plan of groups) made?.fill(plan)
  const rollouts = groups.map((plan) => rolloutOf(plan, made))
  return {
    stop: [...stop.map(stopOf), ...(made?.later ?? [])],
    update: groups.flatMap(({ inPlace, group }) => {
      const deploymentId = deploymentOf(group.Name)
      const version = {
        jobVersion: job?.version ?? 0,
        ...(deploymentId !== null && { deploymentId }),
      }
      return inPlace.map(({ id, metrics }) => ({ id, metrics, ...version }))
    }),
    place: made?.placed ?? [],
    queued: made?.queued ?? [],
    failed: made?.failed ?? [],
    unknown: groups.flatMap(({ unknown }) => unknown.map(({ id }) => id)),
    awaiting: groups.flatMap(({ awaiting }) => awaiting),
    followUpMs,
    cutOffUntilMs: earliest(groups.flatMap(({ cutOffUntilMs }) => cutOffUntilMs ?? [])),
    classes: placer?.classes ?? new Map<string, boolean>(),
    escaped: placer?.isEscaped === true,
    deployment: rollout.decision(rollouts, led),
    desired: desiredUpdates(groups, stop, made?.placed ?? []),
  }
}

type AnyGroup = GroupReconciled | GroupEverywhere

function beginsOne(plan: AnyGroup): boolean {
  return 'progress' in plan ? plan.progress.begins : plan.rollout.wanted !== null
}

/** Of a job that runs on every node it is known once places were looked for. */
function rolloutOf(plan: AnyGroup, made: Filling | null): GroupRollout {
  if (!('progress' in plan)) return plan.rollout
  const roomless = made?.roomlessOf(plan.group) ?? noneRoomless
  return rolloutEverywhere(plan.group, plan.progress, roomless)
}

/** Whether jobs of its type take the place of others. */
function mayPreempt({ job, settings: { preemption } }: ScheduleInput): boolean {
  const type = job?.spec.Type ?? ''
  return isJobType(type) && preemption[type]
}
