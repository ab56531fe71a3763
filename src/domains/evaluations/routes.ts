/** `/v1/evaluations`, `/v1/evaluation/:id`, and the evaluations of a job. */
import { Type } from 'typebox'
import { oneNamespace } from '../../api/one-namespace.ts'
import { forwardPageOf, listReply } from '../../api/pages.ts'
import type { DescribedRoute } from '../../api/route.ts'
import {
  blocking,
  exampleId,
  forwardOnly,
  inNamespace,
  listing,
  ok,
  optionally,
  text,
} from '../../api/shape.ts'
import { evaluationMethods } from './methods.ts'
import { defaultNamespace } from './model.ts'
import { Evaluation } from './shapes.ts'
import { shownEvaluation } from './shown.ts'

export const evaluationRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/evaluations',
    summary: 'List evaluations',
    permission: 'filtered',
    query: {
      ...blocking,
      ...listing,
      ...forwardOnly,
      ...inNamespace,
      ...optionally({ job: text('Of this job'), status: text('With this status') }),
    },
    reply: ok(Type.Array(Evaluation)),
    example: {},
    handle: async (request) => {
      const { search, namespace } = request
      const { value } = await request.query(evaluationMethods.list, {
        ...forwardPageOf(request),
        namespace: namespace ?? defaultNamespace,
        job: search.text('job') ?? '',
        status: search.text('status') ?? '',
      })
      return listReply(value, shownEvaluation)
    },
  },
  {
    method: 'GET',
    path: '/v1/evaluation/:eval_id',
    summary: 'Read an evaluation',
    permission: 'namespace:read-job',
    params: { eval_id: text('The whole UUID of the evaluation') },
    query: blocking,
    reply: ok(Evaluation),
    errors: ['not_found'],
    example: { url: `/v1/evaluation/${exampleId}`, status: 404 },
    handle: async (request) => {
      const args = { id: request.parameter('eval_id') }
      const { value } = await request.query(evaluationMethods.read, args)
      if (value === null) return { status: 404, text: 'evaluation not found' }
      return { jsonOf: () => shownEvaluation(value) }
    },
  },
  {
    method: 'GET',
    path: '/v1/job/:job_id/evaluations',
    summary: 'Evaluations of a job',
    permission: 'namespace:read-job',
    params: { job_id: text('Id of the job') },
    query: { ...blocking, ...inNamespace },
    reply: ok(Type.Array(Evaluation)),
    example: { url: '/v1/job/web/evaluations' },
    handle: async (request) => {
      const { value } = await request.query(evaluationMethods.ofJob, {
        namespace: oneNamespace(request.namespace),
        jobId: request.parameter('job_id'),
      })
      return listReply(value, shownEvaluation)
    },
  },
]
