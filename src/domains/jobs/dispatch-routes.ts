/** `/v1/job/:id/dispatch` and `/v1/job/:id/periodic/force`. */
import { Type } from 'typebox'
import { oneNamespace } from '../../api/one-namespace.ts'
import { smallBodyBytesMax, type DescribedRoute } from '../../api/route.ts'
import { count, inNamespace, mapOf, nullable, ok, optionally, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { dispatchMethods } from './dispatch-methods.ts'
import {
  payloadBytesMax,
  payloadLengthMax,
  prefixLengthMax,
  tokenLengthMax,
} from './dispatch-model.ts'
import { evaluationShown, priorityIn } from './registered-routes.ts'
import { WrittenJob } from './shapes.ts'

const Body = Type.Partial(
  Type.Object({
    Payload: nullable(text(`In base64; at most ${payloadBytesMax} bytes`)),
    Meta: nullable(mapOf(Type.String(), 'By the keys that the job takes')),
    IdPrefixTemplate: text('Goes before the time in the id'),
    Priority: count('Of the started job, 1 to 100; 0: that of the parameterized one'),
  }),
)

const JobDispatched = Type.Object(
  {
    DispatchedJobID: text('The job that runs it'),
    ...WrittenJob,
    JobCreateIndex: count('Of that job'),
  },
  { title: 'JobDispatched' },
)

export const dispatchRoutes: readonly DescribedRoute[] = [
  {
    method: 'PUT',
    path: '/v1/job/:job_id/dispatch',
    summary: 'Dispatch a parameterized job',
    permission: 'namespace:dispatch-job',
    params: { job_id: text('The id of the parameterized job') },
    query: {
      ...inNamespace,
      ...optionally({
        idempotency_token: text('A later dispatch with the same one starts nothing'),
      }),
    },
    bodySchema: Body,
    bodyBytesMax: smallBodyBytesMax,
    reply: ok(JobDispatched),
    errors: ['not_found', 'conflict'],
    example: {
      url: '/v1/job/encode/dispatch',
      body: { Payload: 'aGVsbG8=', Meta: { quality: 'high' } },
      shownOnly: 'the job is not there',
    },
    handle: async (request) => {
      const fields = request.fields()
      const priority = priorityIn(fields, 'Priority')
      const { index, id, createIndex, evaluation } = await request.call(dispatchMethods.dispatch, {
        namespace: oneNamespace(request.namespace),
        id: request.parameter('job_id'),
        payload: atMost(fields.text('Payload') ?? '', payloadLengthMax, 'Payload'),
        meta: fields.textPairs('Meta') ?? [],
        prefix: atMost(fields.text('IdPrefixTemplate') ?? '', prefixLengthMax, 'IdPrefixTemplate'),
        token: atMost(
          request.search.text('idempotency_token') ?? '',
          tokenLengthMax,
          'idempotency_token',
        ),
        ...(priority > 0 && { priority }),
      })
      const shown = evaluationShown(index, evaluation)
      return { index, json: { DispatchedJobID: id, ...shown, JobCreateIndex: createIndex } }
    },
  },
  {
    method: 'PUT',
    path: '/v1/job/:job_id/periodic/force',
    summary: 'Start a periodic job now',
    permission: 'namespace:submit-job',
    params: { job_id: text('The id of the periodic job') },
    query: inNamespace,
    reply: ok(Type.Object(WrittenJob, { title: 'JobForced' })),
    errors: ['not_found', 'conflict'],
    example: { url: '/v1/job/nightly/periodic/force', shownOnly: 'the job is not there' },
    body: 'none',
    handle: async (request) => {
      const { index, evaluation } = await request.call(dispatchMethods.force, {
        namespace: oneNamespace(request.namespace),
        id: request.parameter('job_id'),
      })
      return { index, json: evaluationShown(index, evaluation) }
    },
  },
]

function atMost(value: string, most: number, name: string): string {
  if (value.length <= most) return value
  const text = `${name} has ${value.length} letters, at most ${most} are possible`
  throw new MusterError('too_large', text)
}
