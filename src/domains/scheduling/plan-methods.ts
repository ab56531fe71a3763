/** A job is planned: what its registration would do, found out by the leader on its own state. Nothing is written. */
import { Type } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'
import { MusterError } from '../../lib/errors.ts'
import type { May } from '../../rpc/list.ts'
import { defineLeaderMethod } from '../../rpc/method.ts'
import { inNamespace } from '../../rpc/requirements.ts'
import type { AllocationRow } from '../allocations/model.ts'
import { allocationById, isUnpromotedCanary, jobTypeOf } from '../allocations/queries.ts'
import type { EvaluationRow } from '../evaluations/model.ts'
import { shownMetrics } from '../evaluations/metrics-model.ts'
import { jobDiff } from '../jobs/diff-model.ts'
import { isLaunched, kindOf } from '../jobs/kind-model.ts'
import { jobOf } from '../jobs/queries.ts'
import {
  mustKeepType,
  otherKindText,
  specOf,
  unknownNamespace,
  warningsNow,
} from '../jobs/registered-methods.ts'
import { nextLaunchMs } from '../jobs/zones.ts'
import { namespaceOf } from '../namespaces/queries.ts'
import type { Decision } from '../../scheduler/decision.ts'
import type { DesiredUpdates } from '../../scheduler/desired.ts'
import { dryRun } from './dry-run.ts'
import { annotated, type AnnotatedDiff } from './plan-annotations.ts'

const Word = Type.String({ maxLength: 1_024 })

export type Desired = DesiredUpdates

/** Of another job, with what it is shown beside. */
type PreemptedAllocation = {
  readonly row: AllocationRow
  readonly jobType: string | null
  readonly isCanary: boolean
}

export type PlannedJob = {
  readonly desired: readonly (readonly [group: string, updates: DesiredUpdates])[]
  readonly failed: Readonly<Record<string, ReturnType<typeof shownMetrics>>>
  readonly evaluations: readonly EvaluationRow[]
  /** That would end for those of the job. */
  /** Absent: the leader's program is older. */
  readonly preempted?: readonly PreemptedAllocation[]
  readonly jobModifyIndex: number
  readonly diff: AnnotatedDiff | null
  /** Null: it is not started by time. */
  readonly nextLaunchMs: number | null
  readonly warnings: readonly string[]
}

const plan = defineLeaderMethod({
  kind: 'leader',
  name: 'jobs.plan',
  args: Type.Object({ namespace: Word, id: Word, job: Type.Unknown(), diff: Type.Boolean() }),
  requires: ({ namespace }) => ({ resource: 'namespace', namespace, access: 'submit-job' }),
  run: async (context, { namespace, id, job, diff }): Promise<PlannedJob> => {
    const { spec, asked } = specOf(namespace, job)
    if (spec.ID !== id) {
      const text = `Job.ID must be that of the path, ${JSON.stringify(id)}, not ${JSON.stringify(spec.ID)}`
      throw new MusterError('invalid_argument', text)
    }
    const reader = context.read()
    if (namespaceOf(reader, namespace).value === null) throw unknownNamespace(namespace)
    const { decision, evaluations, before, jobModifyIndex } = await dryRun(
      reader,
      spec,
      context.clock,
    )
    mustKeepType(before?.Type ?? null, spec.Type)
    const kind = before === null ? null : kindOf(before)
    if (kind !== null && kind !== kindOf(spec)) {
      throw new MusterError('invalid_argument', otherKindText(id, kind))
    }
    const nowMs = context.clock.wallMs()
    const row = jobOf(reader, namespace, id)
    const stopped = { before: row?.stop === true, after: false }
    const dispatched = row?.parent?.dispatched === true
    const periodic = isLaunched(spec, dispatched) ? spec.Periodic : null
    return {
      desired: [...decision.desired],
      failed: Object.fromEntries(
        decision.failed.map(([group, metrics]) => [group, shownMetrics(metrics)]),
      ),
      evaluations: evaluations.map((row) => ({ ...row, createIndex: 0, modifyIndex: 0 })),
      preempted: preemptedBy(reader, decision, (required) => context.may(required)),
      jobModifyIndex,
      diff: diff ? annotated(jobDiff(before, spec, stopped), decision.desired) : null,
      nextLaunchMs: periodic === null ? null : nextLaunchMs(periodic, nowMs),
      warnings: warningsNow(context, asked),
    }
  },
})

export const planMethods = { plan }

/** That the caller may see. */
function preemptedBy(
  reader: Reader,
  { place }: Decision,
  may: May,
): readonly PreemptedAllocation[] {
  return place
    .flatMap(({ allocation: { preempts = [] } }) => preempts)
    .flatMap((id) => {
      const row = allocationById(reader, id)
      if (row === null || !may(inNamespace(row.namespace, 'read-job'))) return []
      const isCanary = isUnpromotedCanary(reader, row)
      return [{ row, jobType: jobTypeOf(reader, row), isCanary }]
    })
}
