/**
 * What a node's agent and its server say to each other about allocations, over the uplink: which there are (`allocations.feed`),
 * what each is (`allocations.read`), and what became of them (`allocations.report`). Both sides check what the other one sends,
 * and take members that a newer program adds.
 */
import { Type, type Static } from 'typebox'
import { Count } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'
import { JobType } from '../evaluations/job-type-model.ts'
import { GroupName, IdOrNone, JobId, NamespaceName, RowId } from '../evaluations/model.ts'
import { payloadLengthMax } from '../jobs/dispatch-model.ts'
import { TaskGroup } from '../jobs/model.ts'
import { LogOrigin } from './log-model.ts'
import {
  AllocatedResources,
  allocationsPerNodeMax,
  ClientReport,
  desiredStatuses,
  preemptedMax,
} from './model.ts'

/** A server answers a feed by then, changed or not. */
export const feedWaitMsMax = 30_000
/** Those of a node, and as many that still end. */
export const feedMax = 4 * allocationsPerNodeMax
/** Records of one answer; it ends earlier where it would take more than the bytes below, but has one at least. */
export const assignedMax = 32
export const assignedBytesMax = 2 * 1024 * 1024
/** Reports of one call; and all of them together, as JSON. */
export const reportsMax = 256
export const reportsLengthMax = 262_144

const Tag = Type.String({ maxLength: 64 })
const Word = Type.String({ maxLength: 1_024 })

/**
 * `tag`: of the last answer; '': there was none. `index`: of the last answer, 0 at first. The answer comes when the node's allocations
 * are others than those of the tag, or after `waitMs`. It is no older than the last one, whichever server gives it.
 */
export const FeedArgs = Type.Object({
  index: Count,
  tag: Tag,
  waitMs: Type.Integer({ minimum: 0, maximum: feedWaitMsMax }),
})
export type FeedArgs = Readonly<Static<typeof FeedArgs>>

/**
 * All allocations of the node that its agent has not reported as ended, each with the index of the last change that the agent has to know
 * of. What the agent runs besides is to stop. `log`: that the index is of; servers of earlier versions do not say.
 */
export const Feed = Type.Object({
  index: Count,
  log: Type.Optional(LogOrigin),
  tag: Tag,
  allocations: Type.Array(Type.Tuple([RowId, Count]), { maxItems: feedMax }),
})
export type Feed = Readonly<Static<typeof Feed>>

export const ReadArgs = Type.Object({
  ids: Type.Array(RowId, { minItems: 1, maxItems: assignedMax }),
})
export type ReadArgs = Readonly<Static<typeof ReadArgs>>

/** An allocation as its agent needs it. */
export const Assigned = Type.Object({
  id: RowId,
  /** `job.group[index]` */
  name: Word,
  namespace: NamespaceName,
  evalId: RowId,
  jobId: JobId,
  jobName: Word,
  /** The job that started it, by a dispatch or by the time; absent: none did. */
  parentId: Type.Optional(JobId),
  jobType: JobType,
  jobPriority: Count,
  jobVersion: Count,
  /** Of the job; tasks and groups have theirs in `group`. */
  jobMeta: Type.Record(Type.String(), Type.String()),
  /** That the job was dispatched with, in base64; absent: there is none, or no task takes it. */
  payload: Type.Optional(Type.String({ maxLength: payloadLengthMax })),
  region: Word,
  /** Of the node. */
  datacenter: Word,
  group: TaskGroup,
  groupName: GroupName,
  resources: AllocatedResources,
  desiredStatus: Type.Enum([...desiredStatuses]),
  /** No deployment waits for it: its health is judged by `migrate` of the group, for drains. */
  migrate: Type.Boolean(),
  /** Its tasks are ended without their delays. */
  skipsDelay: Type.Optional(Type.Literal(true)),
  /** Its node was cut off, and servers have not heard of it since. */
  isUnknown: Type.Optional(Type.Literal(true)),
  /** It stands beside what it may replace, and waits for its promotion. A promotion alone does not move `allocModifyIndex`. */
  canary: Type.Optional(Type.Literal(true)),
  previous: IdOrNone,
  /** Others of this node: its tasks begin once they have ended. */
  preempts: Type.Optional(Type.Array(RowId, { maxItems: preemptedMax })),
  createMs: TimeMs,
  allocModifyIndex: Count,
  /** The state that says so. Servers of earlier versions do not tell. */
  state: Type.Optional(Type.Object({ cluster: LogOrigin.properties.cluster, index: Count })),
})
export type Assigned = Readonly<Static<typeof Assigned>>

/** In the order of the ids; what is gone, or is another node's, is left out. */
export const ReadReply = Type.Object({
  allocations: Type.Array(Assigned, { maxItems: assignedMax }),
  /** Those that found no place in this answer. */
  rest: Type.Array(RowId, { maxItems: assignedMax }),
})
export type ReadReply = Readonly<Static<typeof ReadReply>>

export const ReportArgs = Type.Refine(
  Type.Object({ reports: Type.Array(ClientReport, { minItems: 1, maxItems: reportsMax }) }),
  ({ reports }) => JSON.stringify(reports).length <= reportsLengthMax,
  () => `must take at most ${reportsLengthMax} characters`,
)
export type ReportArgs = Readonly<Static<typeof ReportArgs>>

/** `unknown`: there are no such allocations of this node any more. What else was reported is kept. */
export const ReportReply = Type.Object({
  index: Count,
  unknown: Type.Array(RowId, { maxItems: reportsMax }),
})
export type ReportReply = Readonly<Static<typeof ReportReply>>
