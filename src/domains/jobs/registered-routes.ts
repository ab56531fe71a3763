/** `/v1/jobs` and `/v1/job/:id`: registered jobs. */
import { Type } from 'typebox'
import type { Fields } from '../../api/fields.ts'
import { oneNamespace } from '../../api/one-namespace.ts'
import { forwardPageOf, listReply } from '../../api/pages.ts'
import {
  smallBodyBytesMax,
  type ApiReply,
  type ApiRequest,
  type DescribedRoute,
} from '../../api/route.ts'
import {
  blocking,
  count,
  flag,
  forwardOnly,
  inNamespace,
  listing,
  ok,
  optionally,
  text,
} from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { defaultNamespace } from './model.ts'
import { registeredJobMethods, type Evaluated, type Registered } from './registered-methods.ts'
import { jobOf, namespaceOf } from './routes.ts'
import {
  EvaluateBody,
  jobBodyBytesMax,
  JobEvaluated,
  JobRegistered,
  JobStub,
  JobSummary,
  JobVersionList,
  RegisterBody,
  RegisteredJob,
  RevertBody,
} from './shapes.ts'
import {
  shownDiffs,
  shownJob,
  shownStub,
  shownSummary,
  shownVersion,
  shownWarnings,
} from './shown.ts'

const priorityMax = 100
const named = { job_id: text('The id of the job') }
const atLeast = [{ resource: 'namespace', access: 'write' }] as const
const exampleJob = {
  ID: 'cache',
  Datacenters: ['dc1'],
  TaskGroups: [
    {
      Name: 'cache',
      Tasks: [{ Name: 'cache', Driver: 'raw_exec', Config: { command: '/usr/bin/cache' } }],
    },
  ],
}

const registration = {
  permission: 'namespace:submit-job',
  query: inNamespace,
  bodySchema: RegisterBody,
  reply: ok(JobRegistered),
  errors: ['conflict'],
  bodyBytesMax: jobBodyBytesMax,
  atLeast,
} as const

export const registeredJobRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/jobs',
    summary: 'List jobs',
    permission: 'filtered',
    query: {
      ...blocking,
      ...listing,
      ...forwardOnly,
      ...inNamespace,
      ...optionally({ meta: flag('With `Meta`') }),
    },
    reply: ok(Type.Array(JobStub)),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(registeredJobMethods.list, {
        ...forwardPageOf(request),
        namespace: request.namespace ?? defaultNamespace,
      })
      const extras = { meta: request.search.boolean('meta') }
      return listReply(value, (whole) => shownStub(whole, extras))
    },
  },
  {
    ...registration,
    method: 'PUT',
    path: '/v1/jobs',
    summary: 'Register a job',
    example: { body: { Job: exampleJob } },
    handle: (request) => register(request, null),
  },
  {
    ...registration,
    method: 'PUT',
    path: '/v1/job/:job_id',
    summary: 'Register a job under the id of the path',
    params: named,
    example: { url: '/v1/job/cache', body: { Job: { ...exampleJob, Priority: 60 } } },
    handle: (request) => register(request, idOf(request)),
  },
  {
    method: 'GET',
    path: '/v1/job/:job_id',
    summary: 'Read a job',
    permission: 'namespace:read-job',
    params: named,
    query: { ...blocking, ...inNamespace },
    reply: ok(RegisteredJob),
    errors: ['not_found'],
    example: { url: '/v1/job/cache' },
    handle: async (request) => {
      const { value } = await request.query(registeredJobMethods.read, placeOf(request))
      return value === null ? notFound : { jsonOf: () => shownJob(value) }
    },
  },
  {
    method: 'GET',
    path: '/v1/job/:job_id/versions',
    summary: 'List the versions of a job',
    permission: 'namespace:read-job',
    params: named,
    query: {
      ...blocking,
      ...inNamespace,
      ...optionally({ diffs: flag('With what differs from one version to the next') }),
    },
    reply: ok(JobVersionList),
    errors: ['not_found'],
    example: { url: '/v1/job/cache/versions' },
    handle: async (request) => {
      const { value } = await request.query(registeredJobMethods.versions, placeOf(request))
      if (value === null) return notFound
      const { job, versions } = value
      const withDiffs = request.search.boolean('diffs') ?? false
      return {
        jsonOf: () => ({
          Versions: versions.map((version) => shownVersion(version, job)),
          Diffs: withDiffs ? shownDiffs(versions) : null,
        }),
      }
    },
  },
  {
    method: 'GET',
    path: '/v1/job/:job_id/summary',
    summary: 'Count the allocations of a job',
    permission: 'namespace:read-job',
    params: named,
    query: { ...blocking, ...inNamespace },
    reply: ok(JobSummary),
    errors: ['not_found'],
    example: { url: '/v1/job/cache/summary' },
    handle: async (request) => {
      const { value } = await request.query(registeredJobMethods.read, placeOf(request))
      return value === null ? notFound : { jsonOf: () => shownSummary(value.job) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/job/:job_id/evaluate',
    summary: 'Look again at the allocations of a job',
    permission: 'namespace:read-job',
    params: named,
    query: inNamespace,
    bodySchema: EvaluateBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: ok(JobEvaluated),
    errors: ['not_found'],
    example: { url: '/v1/job/cache/evaluate' },
    handle: async (request) => {
      const { reschedule, evaluate } = registeredJobMethods
      const method = forcesReschedule(request) ? reschedule : evaluate
      return evaluated(await request.call(method, placeOf(request)))
    },
  },
  {
    method: 'PUT',
    path: '/v1/job/:job_id/revert',
    summary: 'Make a job what an earlier version was',
    permission: 'namespace:submit-job',
    params: named,
    query: inNamespace,
    bodySchema: RevertBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: ok(JobRegistered),
    errors: ['not_found', 'conflict'],
    example: { url: '/v1/job/cache/revert', body: { JobVersion: 0 } },
    handle: async (request) => {
      const fields = request.fields()
      const version = fields.integer('JobVersion')
      if (version === undefined) throw missing('JobVersion')
      const args = {
        ...placeOf(request),
        version: whole(version, 'JobVersion'),
        enforceVersion: optional(fields, 'EnforcePriorVersion'),
      }
      return registered(await request.call(registeredJobMethods.revert, args))
    },
  },
  {
    method: 'DELETE',
    path: '/v1/job/:job_id',
    summary: 'Stop a job',
    permission: 'namespace:submit-job',
    params: named,
    query: {
      ...inNamespace,
      ...optionally({
        purge: flag('Forgets it as well'),
        no_shutdown_delay: flag('End its tasks without their `shutdown_delay`'),
        eval_priority: count('Of the evaluation, 1 to 100; 0: that of the job'),
        global: flag('Ignored: each cluster stands for itself'),
      }),
    },
    reply: ok(JobEvaluated),
    errors: ['not_found'],
    example: { url: '/v1/job/cache' },
    handle: async (request) => {
      const bounds = { min: 0, max: priorityMax }
      const evalPriority = request.search.integer('eval_priority', bounds) ?? 0
      const args = {
        ...placeOf(request),
        purge: request.search.boolean('purge'),
        skipsDelay: request.search.boolean('no_shutdown_delay'),
        ...(evalPriority > 0 && { evalPriority }),
      }
      return evaluated(await request.call(registeredJobMethods.stop, args))
    },
  },
]

const notFound: ApiReply = { status: 404, text: 'job not found' }

async function register(request: ApiRequest, id: string | null): Promise<ApiReply> {
  const fields = request.fields()
  const job = jobOf(request)
  refuseToPreserve(fields, 'PreserveCounts', 'counts')
  refuseToPreserve(fields, 'PreserveResources', 'resources')
  const written = job.text('ID')
  if (id !== null && written !== id) throw otherJob('Job.ID', written, id)
  const evalPriority = priorityIn(fields, 'EvalPriority')
  const isEnforced = fields.boolean('EnforceIndex') ?? false
  const args = {
    namespace: request.namespace ?? namespaceOf(job.text('Namespace')),
    job: fields.raw('Job'),
    enforceIndex: isEnforced ? (optional(fields, 'JobModifyIndex') ?? 0) : null,
    ...(evalPriority > 0 && { evalPriority }),
  }
  return registered(await request.call(registeredJobMethods.register, args))
}

function refuseToPreserve(fields: Fields, name: string, what: string): void {
  if (fields.boolean(name) !== true) return
  const text = `${name} must be false: write the ${what} that are to stay into the job`
  throw new MusterError('invalid_argument', text)
}

/** Of a body that may be left out. */
function forcesReschedule(request: ApiRequest): boolean {
  if (request.json === undefined || request.json === null) return false
  const fields = request.fields()
  const id = idOf(request)
  const written = fields.text('JobID') ?? ''
  if (written !== '' && written !== id) throw otherJob('JobID', written, id)
  return fields.object('EvalOptions')?.boolean('ForceReschedule') ?? false
}

function registered({ index, jobModifyIndex, evaluation, warnings }: Registered): ApiReply {
  return {
    index,
    json: {
      ...evaluationShown(index, evaluation),
      JobModifyIndex: jobModifyIndex,
      Warnings: shownWarnings(warnings),
    },
  }
}

function evaluated({ index, jobModifyIndex, evaluation }: Evaluated): ApiReply {
  const json = { ...evaluationShown(index, evaluation), JobModifyIndex: jobModifyIndex }
  return { index, json }
}

/** `id`: '' where there is none. */
export function evaluationShown(index: number, id: string) {
  return {
    EvalID: id,
    EvalCreateIndex: id === '' ? 0 : index,
    Index: index,
    KnownLeader: true,
    LastContact: 0,
  }
}

/** 0: that of the job. */
export function priorityIn(fields: Fields, name: string): number {
  const value = fields.integer(name) ?? 0
  if (value >= 0 && value <= priorityMax) return value
  const text = `${name} is ${value}: it must be from 1 to ${priorityMax}, or 0 for that of the job`
  throw new MusterError('invalid_argument', text)
}

function optional(fields: Fields, name: string): number | null {
  const value = fields.integer(name)
  return value === undefined ? null : whole(value, name)
}

function whole(value: number, name: string): number {
  if (value >= 0) return value
  throw new MusterError('invalid_argument', `${name} must be 0 or above`)
}

function otherJob(name: string, written: string | undefined, id: string): MusterError {
  const now = written === undefined ? 'missing' : JSON.stringify(written)
  const text = `${name} is ${now}: it must be that of the path, ${JSON.stringify(id)}`
  return new MusterError('invalid_argument', text)
}

function missing(name: string): MusterError {
  return new MusterError('invalid_argument', `${name} is missing`)
}

function idOf(request: ApiRequest): string {
  return request.parameter('job_id')
}

function placeOf(request: ApiRequest) {
  return { namespace: oneNamespace(request.namespace), id: idOf(request) }
}
