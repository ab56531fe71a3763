/** `/v1/jobs/parse` and `/v1/validate/job`. */
import type { Fields } from '../../api/fields.ts'
import { refuseOtherRegionOf } from '../../api/request-checks.ts'
import type { ApiReply, ApiRequest, DescribedRoute } from '../../api/route.ts'
import { inNamespace, ok } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { jobMethods } from './methods.ts'
import { defaultNamespace, jobBytesMax } from './model.ts'
import { jobBodyBytesMax, ParseBody, ParsedJobShape, ValidateBody, ValidatedJob } from './shapes.ts'
import { shownErrors, shownSpecification, shownWarnings } from './shown.ts'

export const jobRoutes: readonly DescribedRoute[] = [
  {
    method: 'POST',
    path: '/v1/jobs/parse',
    summary: 'Read a job file',
    permission: 'namespace:parse-job',
    query: inNamespace,
    bodySchema: ParseBody,
    reply: ok(ParsedJobShape),
    example: {
      body: {
        JobHCL:
          'job "web" {\n  datacenters = ["dc1"]\n  group "web" {\n    task "web" { driver = "docker" }\n  }\n}\n',
        Canonicalize: true,
      },
    },
    bodyBytesMax: jobBodyBytesMax,
    atLeast: [{ resource: 'namespace', access: 'read' }],
    handle: parse,
  },
  {
    method: 'POST',
    path: '/v1/validate/job',
    summary: 'Check a job',
    permission: 'namespace:read-job',
    query: inNamespace,
    bodySchema: ValidateBody,
    reply: ok(ValidatedJob),
    example: { body: { Job: { ID: 'web', Datacenters: ['dc1'] } } },
    bodyBytesMax: jobBodyBytesMax,
    atLeast: [{ resource: 'namespace', access: 'read' }],
    handle: validate,
  },
]

async function parse(request: ApiRequest): Promise<ApiReply> {
  const fields = request.fields()
  if (fields.boolean('HCLv1') === true) {
    throw new MusterError('invalid_argument', 'HCLv1 must be false: job files are read as HCL 2')
  }
  const text = fields.text('JobHCL') ?? ''
  if (text.trim() === '') throw new MusterError('invalid_argument', 'JobHCL is missing')
  for (const name of ['JobHCL', 'Variables']) {
    if ((fields.text(name) ?? '').length > jobBytesMax) {
      throw new MusterError('too_large', `${name} has over ${jobBytesMax} letters`)
    }
  }
  const parsed = await request.call(jobMethods.parse, {
    namespace: request.namespace ?? defaultNamespace,
    text,
    variables: fields.text('Variables') ?? '',
    complete: fields.boolean('Canonicalize') ?? false,
  })
  return { json: parsed.complete ? shownSpecification(parsed.job) : parsed.job }
}

async function validate(request: ApiRequest): Promise<ApiReply> {
  const fields = request.fields()
  const job = jobOf(request)
  const { errors, warnings } = await request.call(jobMethods.validate, {
    namespace: request.namespace ?? namespaceOf(job.text('Namespace')),
    job: fields.raw('Job'),
  })
  return {
    json: {
      DriverConfigValidated: true,
      ValidationErrors: errors.length === 0 ? null : errors,
      Error: shownErrors(errors),
      Warnings: shownWarnings(warnings),
    },
  }
}

/** That the body has. Throws where there is none, and for one of another region, as for a request to one. */
export function jobOf(request: ApiRequest): Fields {
  const job = request.fields().object('Job')
  if (job === undefined) throw new MusterError('invalid_argument', 'Job is missing')
  refuseOtherRegionOf(request, job.text('Region') ?? '')
  return job
}

/** Of a job that says so itself, or nothing. */
export function namespaceOf(written: string | undefined): string {
  return written === undefined || written === '' ? defaultNamespace : written
}
