/** `PUT /v1/job/:id/plan`: a dry run. */
import { Type } from 'typebox'
import { refuseOtherRegionOf } from '../../api/request-checks.ts'
import type { DescribedRoute } from '../../api/route.ts'
import { count, flag, inNamespace, mapOf, nullable, ok, text, Time } from '../../api/shape.ts'
import { dateText } from '../../lib/date-text.ts'
import { MusterError } from '../../lib/errors.ts'
import { AllocationStub } from '../allocations/shapes.ts'
import { shownStub } from '../allocations/shown.ts'
import { shownEvaluation } from '../evaluations/shown.ts'
import { Evaluation, PlacementMetrics } from '../evaluations/shapes.ts'
import { DiffShape } from '../jobs/diff-shapes.ts'
import { jobBodyBytesMax, JobShape } from '../jobs/shapes.ts'
import { shownWarnings } from '../jobs/shown.ts'
import { planMethods, type Desired, type PlannedJob } from './plan-methods.ts'

/** As Go prints a time that there is none of. */
const never = '0001-01-01T00:00:00Z'

const Body = Type.Object({
  Job: JobShape,
  Diff: Type.Optional(flag('Tells what differs from the job as it is registered')),
  PolicyOverride: Type.Optional(flag('Ignored: there are no policies to override')),
})

const DesiredShape = Type.Object(
  {
    Ignore: count('Stay as they are'),
    Place: count('New ones'),
    Migrate: count('Moved off their node'),
    Stop: count('Stopped'),
    InPlaceUpdate: count('Become of the new version as they run'),
    DestructiveUpdate: count('Stopped and replaced by new ones'),
    Canary: count('New ones beside the others, until they are promoted'),
    Preemptions: count('Of lower priority, that would end for these'),
  },
  { title: 'DesiredUpdates' },
)

const JobPlan = Type.Object(
  {
    Annotations: Type.Object({
      DesiredTGUpdates: mapOf(DesiredShape, 'By group: what would become of its allocations'),
      PreemptedAllocs: nullable(Type.Array(AllocationStub)),
    }),
    FailedTGAllocs: nullable(mapOf(PlacementMetrics, 'By group: why it would have no place')),
    JobModifyIndex: count('Of the job as it is, for EnforceIndex; 0: there is none'),
    CreatedEvals: nullable(Type.Array(Evaluation)),
    Diff: nullable(DiffShape),
    NextPeriodicLaunch: Time,
    Warnings: text('What is allowed and seldom meant'),
  },
  { title: 'JobPlan' },
)

export const planRoutes: readonly DescribedRoute[] = [
  {
    method: 'PUT',
    path: '/v1/job/:job_id/plan',
    summary: 'Plan a job without registering it',
    permission: 'namespace:submit-job',
    params: { job_id: text('The id of the job') },
    query: inNamespace,
    bodySchema: Body,
    bodyBytesMax: jobBodyBytesMax,
    reply: ok(JobPlan),
    atLeast: [{ resource: 'namespace', access: 'write' }],
    example: {
      url: '/v1/job/cache/plan',
      body: {
        Job: {
          ID: 'cache',
          Datacenters: ['dc1'],
          TaskGroups: [{ Name: 'cache', Count: 3, Tasks: [{ Name: 'cache', Driver: 'raw_exec' }] }],
        },
        Diff: true,
      },
    },
    handle: async (request) => {
      const fields = request.fields()
      const job = fields.object('Job')
      if (job === undefined) throw new MusterError('invalid_argument', 'Job is missing')
      refuseOtherRegionOf(request, job.text('Region') ?? '')
      const planned = await request.call(planMethods.plan, {
        namespace: request.namespace ?? (job.text('Namespace') || 'default'),
        id: request.parameter('job_id'),
        job: fields.raw('Job'),
        diff: fields.boolean('Diff') ?? false,
      })
      return { json: shownPlan(planned) }
    },
  },
]

function shownPlan(planned: PlannedJob) {
  const { desired, failed, evaluations, diff, nextLaunchMs, preempted = [] } = planned
  return {
    Annotations: {
      DesiredTGUpdates: Object.fromEntries(
        desired.map(([group, counts]) => [group, shownDesired(counts)]),
      ),
      PreemptedAllocs: preempted.length === 0 ? null : preempted.map((listed) => shownStub(listed)),
    },
    FailedTGAllocs: Object.keys(failed).length === 0 ? null : failed,
    JobModifyIndex: planned.jobModifyIndex,
    CreatedEvals: evaluations.length === 0 ? null : evaluations.map(shownEvaluation),
    Diff: diff,
    NextPeriodicLaunch: nextLaunchMs === null ? never : dateText(nextLaunchMs),
    Warnings: shownWarnings(planned.warnings),
  }
}

function shownDesired(counts: Desired) {
  return {
    Ignore: counts.ignore,
    Place: counts.place,
    Migrate: counts.migrate,
    Stop: counts.stop,
    InPlaceUpdate: counts.inPlace,
    DestructiveUpdate: counts.destructive,
    Canary: counts.canary,
    Preemptions: counts.preemptions,
  }
}
