/** A job is planned: what its registration would do, found out by the leader on its own state. Nothing is written. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod } from '../../rpc/method.ts'
import type { EvaluationRow } from '../evaluations/model.ts'
import { shownMetrics } from '../evaluations/metrics-model.ts'
import { jobDiff } from '../jobs/diff-model.ts'
import { kindOf } from '../jobs/kind-model.ts'
import { otherKindText, specOf, unknownNamespace, warningsAt } from '../jobs/registered-methods.ts'
import { nextLaunchMs } from '../jobs/zones.ts'
import { namespaceOf } from '../namespaces/queries.ts'
import type { DesiredUpdates } from '../../scheduler/desired.ts'
import { dryRun } from './dry-run.ts'
import { annotated, type AnnotatedDiff } from './plan-annotations.ts'

const Word = Type.String({ maxLength: 1_024 })

export type Desired = DesiredUpdates

export type PlannedJob = {
  readonly desired: readonly (readonly [group: string, updates: DesiredUpdates])[]
  readonly failed: Readonly<Record<string, ReturnType<typeof shownMetrics>>>
  readonly evaluations: readonly EvaluationRow[]
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
    const spec = specOf(namespace, job)
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
    const kind = before === null ? null : kindOf(before)
    if (kind !== null && kind !== kindOf(spec)) {
      throw new MusterError('invalid_argument', otherKindText(id, kind))
    }
    const nowMs = context.clock.wallMs()
    return {
      desired: [...decision.desired],
      failed: Object.fromEntries(
        decision.failed.map(([group, metrics]) => [group, shownMetrics(metrics)]),
      ),
      evaluations: evaluations.map((row) => ({ ...row, createIndex: 0, modifyIndex: 0 })),
      jobModifyIndex,
      diff: diff ? annotated(jobDiff(before, spec), decision.desired) : null,
      nextLaunchMs: spec.Periodic === null ? null : nextLaunchMs(spec.Periodic, nowMs),
      warnings: warningsAt(spec, nowMs),
    }
  },
})

export const planMethods = { plan }
