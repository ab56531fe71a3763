/** `GET /v1/job/:id/scale`. */
import { Type } from 'typebox'
import { oneNamespace } from '../../api/one-namespace.ts'
import type { DescribedRoute } from '../../api/route.ts'
import {
  blocking,
  count,
  flag,
  inNamespace,
  mapOf,
  Nanoseconds,
  nullable,
  ok,
  text,
} from '../../api/shape.ts'
import { nanoseconds } from '../../lib/date-text.ts'
import { jsonObjectOf } from '../../lib/json-object.ts'
import { scaleStatus, type JobScale, type ScaleEvent } from './scale-status-methods.ts'

const Event = Type.Object(
  {
    Count: nullable(count('That was asked for; null: it stayed')),
    PreviousCount: count('Before'),
    Error: flag('The scaler failed'),
    Message: Type.String(),
    Meta: mapOf(Type.Unknown(), 'As it was sent'),
    EvalID: nullable(text('The evaluation that it led to')),
    Time: Nanoseconds,
    CreateIndex: count('Index of the log entry that made it'),
  },
  { title: 'ScalingEvent' },
)

const GroupScaleShape = Type.Object(
  {
    Desired: count('As the job says'),
    Placed: count('Allocations that have a place and have not ended'),
    Running: count('Of these'),
    Healthy: count('Of these'),
    Unhealthy: count('Of these'),
    Events: Type.Array(Event, { description: 'The newest first, at most 10' }),
  },
  { title: 'GroupScaleStatus' },
)

const JobScaleStatus = Type.Object(
  {
    JobID: Type.String(),
    Namespace: Type.String(),
    JobCreateIndex: count('Index of the log entry that made the job'),
    JobModifyIndex: count('Index of the last registration, stop or scaling'),
    JobStopped: Type.Boolean(),
    TaskGroups: mapOf(GroupScaleShape, 'By group'),
  },
  { title: 'JobScaleStatus' },
)

export const scaleStatusRoute: DescribedRoute = {
  method: 'GET',
  path: '/v1/job/:job_id/scale',
  summary: 'Read how a job is scaled',
  permission: 'namespace:read-job-scaling',
  params: { job_id: text('The id of the job') },
  query: { ...blocking, ...inNamespace },
  reply: ok(JobScaleStatus),
  errors: ['not_found'],
  example: { url: '/v1/job/cache/scale' },
  handle: async (request) => {
    const { value } = await request.query(scaleStatus, {
      namespace: oneNamespace(request.namespace),
      id: request.parameter('job_id'),
    })
    if (value === null) return { status: 404, text: 'job not found' }
    return { jsonOf: () => shownScale(value) }
  },
}

function shownScale({ job, groups }: JobScale) {
  return {
    JobID: job.id,
    Namespace: job.namespace,
    JobCreateIndex: job.createIndex,
    JobModifyIndex: job.jobModifyIndex,
    JobStopped: job.stop,
    TaskGroups: Object.fromEntries(
      [...groups].map(([name, group]) => [
        name,
        {
          Desired: group.desired,
          Placed: group.placed,
          Running: group.running,
          Healthy: group.healthy,
          Unhealthy: group.unhealthy,
          Events: group.events.map(shownEvent),
        },
      ]),
    ),
  }
}

function shownEvent(event: ScaleEvent) {
  return {
    Count: event.count,
    PreviousCount: event.previousCount,
    Error: event.error,
    Message: event.message,
    Meta: jsonObjectOf(event.meta),
    EvalID: event.evalId === '' ? null : event.evalId,
    Time: nanoseconds(event.timeMs),
    CreateIndex: event.createIndex,
  }
}
