/** The count of one group is changed, or a scaler only says something about it. */
import { Type } from 'typebox'
import type { Applied, Change } from '../../fsm/domain.ts'
import { Count } from '../../fsm/row-schema.ts'
import { defineCommand, put, replace, TimeMs } from '../define.ts'
import {
  GroupName,
  JobId,
  NamespaceName,
  RowId,
  workloadsVersion,
  type EvaluationRow,
} from '../evaluations/model.ts'
import { evaluations } from '../evaluations/table.ts'
import { evaluationOf } from './job-evaluation-model.ts'
import { jobOf, newestVersionOf, parentOf } from './queries.ts'
import {
  CountOrNull,
  messageLengthMax,
  scaleMetaLengthMax,
  scalingEventsMax,
  withCount,
  type ScalingEvent,
} from './scale-model.ts'
import { boundsProblem } from './scaling-model.ts'
import { jobs, jobVersions, scalings, type JobRow } from './table.ts'
import { made, parentChanges, versionRow, withStatus } from './version-commands.ts'

export type ScaleOutcome =
  | {
      readonly type: 'scaled'
      readonly row: JobRow
      /** Null: the count stayed, or it runs nothing itself. */
      readonly evaluation: EvaluationRow | null
    }
  | { readonly type: 'unknown' }
  | { readonly type: 'unknownGroup' }
  | { readonly type: 'stopped' }
  /** What the group's policy allows; `text`: why. */
  | { readonly type: 'outOfBounds'; readonly text: string }
  /** `jobModifyIndex`: as it is. */
  | { readonly type: 'conflict'; readonly jobModifyIndex: number }

export const scaleJob = defineCommand({
  type: 'jobs.scale',
  since: workloadsVersion,
  args: Type.Object({
    namespace: NamespaceName,
    id: JobId,
    group: GroupName,
    /** Null: it stays. */
    count: CountOrNull,
    error: Type.Boolean(),
    message: Type.String({ maxLength: messageLengthMax }),
    /** An object as JSON. */
    meta: Type.String({ maxLength: scaleMetaLengthMax }),
    /** The job's `jobModifyIndex` that is expected; null: whatever it is. */
    enforceIndex: Type.Union([Type.Null(), Count]),
    evaluationId: RowId,
    nowMs: TimeMs,
  }),
  load: (reader, { namespace, id, group }) => {
    const before = jobOf(reader, namespace, id)
    return {
      before,
      parent: before === null ? null : parentOf(reader, before),
      version: before === null ? null : newestVersionOf(reader, before),
      scaling: reader.get(scalings, [namespace, id, group]),
    }
  },
  apply: ({ index }, args, { before, version, parent, scaling }): Applied<ScaleOutcome> => {
    const refuse = (outcome: ScaleOutcome) => ({ changes: [], outcome })
    if (before === null || version === null) return refuse({ type: 'unknown' })
    const { namespace, id, group, count, enforceIndex, nowMs } = args
    const { jobModifyIndex } = before
    if (enforceIndex !== null && enforceIndex !== jobModifyIndex) {
      return refuse({ type: 'conflict', jobModifyIndex })
    }
    const previousCount = version.spec.TaskGroups.find(({ Name }) => Name === group)?.Count
    if (previousCount === undefined) return refuse({ type: 'unknownGroup' })
    if (count !== null && before.stop) return refuse({ type: 'stopped' })
    const problem = count === null ? null : boundsProblem(version.spec, group, count)
    if (problem !== null) return refuse({ type: 'outOfBounds', text: problem })
    const spec = withCount(version.spec, group, count ?? previousCount) ?? version.spec
    const scaled: JobRow =
      count === null || count === previousCount
        ? before
        : {
            ...before,
            version: before.version + 1,
            submitMs: nowMs,
            jobModifyIndex: index,
            modifyIndex: index,
          }
    const isEvaluated = count !== null && !before.template
    const row = isEvaluated ? withStatus(scaled, { openEvaluations: true, index }) : scaled
    const evaluation = isEvaluated
      ? evaluationOf(row, made(args, 'job-scaling'), { index, nowMs })
      : null
    const event: ScalingEvent = {
      count,
      previousCount,
      error: args.error,
      message: args.message,
      meta: args.meta,
      evalId: evaluation?.id ?? '',
      timeMs: nowMs,
      createIndex: index,
    }
    const events = [event, ...(scaling?.events ?? [])].slice(0, scalingEventsMax)
    const changes: Change[] = [
      put(scalings, { namespace, jobId: id, group, events, modifyIndex: index }),
      ...parentChanges(parent, { before, after: row }, index),
    ]
    if (evaluation !== null) changes.push(put(evaluations, evaluation))
    if (row !== before) changes.push(replace(jobs, before, row))
    if (row.version !== before.version) {
      changes.push(put(jobVersions, versionRow(row, { spec, before: version, index })))
    }
    return { changes, outcome: { type: 'scaled', row, evaluation } }
  },
})
