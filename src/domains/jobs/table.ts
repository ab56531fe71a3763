/** Rows of registered jobs, and of their versions. */
import { Type, type Static } from 'typebox'
import type { Table } from '../../fsm/domain.ts'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'
import { isBatchType, isEveryNodeType, JobType } from '../evaluations/job-type-model.ts'
import { GroupName, JobId, NamespaceName } from '../evaluations/model.ts'
import { payloadLengthMax } from './dispatch-model.ts'
import { ScalingRow } from './scale-model.ts'
import { policyFront, ScaledGroup } from './scaling-model.ts'
import { StoredSpec } from './stored-model.ts'

/** A part of keys: no change of it may outgrow one. */
const Version = Type.Integer({ minimum: 0, maximum: 2 ** 48 })

/** Allocations of a group by what became of them; `queued`: they have no place yet. */
export const GroupCounts = record({
  group: GroupName,
  queued: Count,
  starting: Count,
  running: Count,
  complete: Count,
  failed: Count,
  lost: Count,
  unknown: Count,
})
export type GroupCounts = Readonly<Static<typeof GroupCounts>>

/** The job that started another one, and how. */
export const JobParent = record({
  id: JobId,
  /** Of the parent: one that is purged and registered again does not count it. */
  createIndex: Count,
  /** By hand, or a dispatched job by time; else a periodic job by time. */
  dispatched: Type.Boolean(),
  /** A dispatch with the token of an earlier one starts nothing; '': it had none. */
  token: Type.String({ maxLength: 256 }),
})
export type JobParent = Readonly<Static<typeof JobParent>>

export const ChildCounts = record({ pending: Count, running: Count, dead: Count })
export type ChildCounts = Readonly<Static<typeof ChildCounts>>

/** What there is of a job but its specification, which is that of its version. */
export const JobRow = record({
  namespace: NamespaceName,
  id: JobId,
  type: JobType,
  priority: Type.Integer({ minimum: 1, maximum: 100 }),
  version: Version,
  /** It is to run nothing. */
  stop: Type.Boolean(),
  /** It runs nothing itself: by time, or when it is dispatched. */
  template: Type.Boolean(),
  status: Type.Enum(['pending', 'running', 'dead']),
  /** Of allocations. */
  groups: Type.Array(GroupCounts, { maxItems: 256 }),
  parent: Type.Optional(JobParent),
  /** Of a template: the jobs that it started and that are kept. */
  children: Type.Optional(ChildCounts),
  /** Of one that is started by time. `launchedMs`: up to then it was, or did not have to be. */
  periodic: Type.Optional(record({ launchedMs: TimeMs })),
  /** Groups with a policy of scaling, where it has any and is not stopped. */
  scaled: Type.Optional(Type.Array(ScaledGroup, { maxItems: 256 })),
  submitMs: TimeMs,
  /** The newest one whose deployment was successful; absent: none was. */
  stableVersion: Type.Optional(Version),
  /** Of the last registration or stop; `modifyIndex` moves with the status too. */
  jobModifyIndex: Count,
  ...indexes,
})
export type JobRow = Readonly<Static<typeof JobRow>>

/** `jobCreateIndex`: a job that is purged and registered again has its versions anew. */
export const JobVersionRow = record({
  namespace: NamespaceName,
  id: JobId,
  jobCreateIndex: Count,
  version: Version,
  spec: StoredSpec,
  stop: Type.Boolean(),
  /** Its deployment was successful. */
  stable: Type.Optional(Type.Boolean()),
  submitMs: TimeMs,
  /** Of a dispatched job, in base64. */
  payload: Type.Optional(Type.String({ maxLength: payloadLengthMax })),
  ...indexes,
})
export type JobVersionRow = Readonly<Static<typeof JobVersionRow>>

/** It runs nothing any more, and nobody waits for it to. */
export function isOver({ status, stop, type }: JobRow): boolean {
  return status === 'dead' && (stop || isBatchType(type))
}

export const jobs: Table<JobRow> = {
  name: 'jobs',
  row: JobRow,
  key: ({ namespace, id }) => [namespace, id],
  indexes: {
    /** Those that run on every node: a node that is new or back needs them. */
    onEveryNode: ({ type, stop, template, namespace, id }) =>
      stop || template || !isEveryNodeType(type) ? null : ['every', namespace, id],
    /** Those that run nothing any more, and nobody waits for; by the time when they were registered or stopped. */
    over: (row) => (isOver(row) ? [row.submitMs] : null),
    /** Those that are started by time. */
    byTime: ({ periodic, stop, namespace, id }) =>
      periodic === undefined || stop ? null : [namespace, id],
    /** Those with policies of scaling. */
    scaled: ({ scaled, namespace, id }) => (scaled === undefined ? null : [namespace, id]),
    /** The same by the front of their policies' ids. */
    byPolicy: (row) => (row.scaled === undefined ? null : [policyFront(row)]),
    byToken: ({ parent, namespace }) =>
      parent === undefined || parent.token === '' ? null : [namespace, parent.id, parent.token],
  },
}

/** What was asked of the counts of groups. Purged with the job. */
export const scalings: Table<ScalingRow> = {
  name: 'jobScalings',
  row: ScalingRow,
  key: ({ namespace, jobId, group }) => [namespace, jobId, group],
}

export const jobVersions: Table<JobVersionRow> = {
  name: 'jobVersions',
  row: JobVersionRow,
  key: ({ namespace, id, jobCreateIndex, version }) => [namespace, id, jobCreateIndex, version],
}
