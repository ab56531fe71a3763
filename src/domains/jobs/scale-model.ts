/** What was asked of the counts of a group, by an operator or an autoscaler, and what can be asked. */
import { Type, type Static } from 'typebox'
import { Count, record } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'
import { GroupName, IdOrNone, JobId, NamespaceName } from '../evaluations/model.ts'
import type { JobSpec } from './model.ts'

/** Of one group; older ones are forgotten. */
export const scalingEventsMax = 10
export const messageLengthMax = 1_024
/** Of Meta as JSON. */
export const scaleMetaLengthMax = 4_096
export const countMax = 2_147_483_647

export const CountOrNull = Type.Union([
  Type.Null(),
  Type.Integer({ minimum: 0, maximum: countMax }),
])

const ScalingEvent = record({
  /** Null: the count stayed. */
  count: CountOrNull,
  previousCount: Count,
  /** The scaler failed. */
  error: Type.Boolean(),
  message: Type.String({ maxLength: messageLengthMax }),
  /** An object as JSON. */
  meta: Type.String({ maxLength: scaleMetaLengthMax }),
  evalId: IdOrNone,
  timeMs: TimeMs,
  createIndex: Count,
})
export type ScalingEvent = Readonly<Static<typeof ScalingEvent>>

export const ScalingRow = record({
  namespace: NamespaceName,
  jobId: JobId,
  group: GroupName,
  /** The newest first. */
  events: Type.Array(ScalingEvent, { maxItems: scalingEventsMax }),
  modifyIndex: Count,
})
export type ScalingRow = Readonly<Static<typeof ScalingRow>>

/** Null: there is no such group. */
export function withCount(spec: JobSpec, group: string, count: number): JobSpec | null {
  if (!spec.TaskGroups.some(({ Name }) => Name === group)) return null
  return {
    ...spec,
    TaskGroups: spec.TaskGroups.map((one) => (one.Name === group ? { ...one, Count: count } : one)),
  }
}
