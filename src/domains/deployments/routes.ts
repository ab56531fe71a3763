/** `/v1/deployments`, `/v1/deployment/:id`, and the deployments of a job. */
import { Type } from 'typebox'
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
  exampleId,
  flag,
  forwardOnly,
  inNamespace,
  listing,
  nullable,
  ok,
  optionally,
  text,
} from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { deploymentMethods, type DeploymentChanged } from './methods.ts'
import { defaultNamespace } from './model.ts'
import { Deployment, DeploymentChange } from './shapes.ts'
import { shownChange, shownDeployment } from './shown.ts'

const named = { deployment_id: text('The whole UUID of the deployment') }
const ofJob = { job_id: text('Id of the job') }
const none = 'there is no deployment until a client agent runs work'

const change = {
  method: 'PUT',
  permission: 'namespace:submit-job',
  params: named,
  reply: ok(DeploymentChange),
  errors: ['not_found'],
  bodyBytesMax: smallBodyBytesMax,
} as const

export const deploymentRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/deployments',
    summary: 'List deployments',
    permission: 'filtered',
    query: { ...blocking, ...listing, ...forwardOnly, ...inNamespace },
    reply: ok(Type.Array(Deployment)),
    example: {},
    handle: async (request) => {
      const namespace = request.namespace ?? defaultNamespace
      const args = { ...forwardPageOf(request), namespace }
      const { value } = await request.query(deploymentMethods.list, args)
      return listReply(value, shownDeployment)
    },
  },
  {
    method: 'GET',
    path: '/v1/deployment/:deployment_id',
    summary: 'Read a deployment',
    permission: 'namespace:read-job',
    params: named,
    query: blocking,
    reply: ok(Deployment),
    errors: ['not_found'],
    example: { url: `/v1/deployment/${exampleId}`, status: 404 },
    handle: async (request) => {
      const { value } = await request.query(deploymentMethods.read, { id: idOf(request) })
      if (value === null) return { status: 404, text: 'deployment not found' }
      return { jsonOf: () => shownDeployment(value) }
    },
  },
  {
    ...change,
    path: '/v1/deployment/fail/:deployment_id',
    summary: 'Fail a deployment; its job goes back where it reverts by itself',
    example: { url: `/v1/deployment/fail/${exampleId}`, shownOnly: none },
    body: 'none',
    handle: async (request) =>
      changed(await request.call(deploymentMethods.fail, { id: idOf(request) })),
  },
  {
    ...change,
    path: '/v1/deployment/pause/:deployment_id',
    summary: 'Pause a deployment, or go on with it',
    bodySchema: Type.Object({ Pause: flag('false: it goes on') }),
    example: {
      url: `/v1/deployment/pause/${exampleId}`,
      body: { Pause: true },
      shownOnly: none,
    },
    handle: async (request) => {
      const pause = request.fields().boolean('Pause')
      if (pause === undefined) throw new MusterError('invalid_argument', 'Pause is missing')
      return changed(await request.call(deploymentMethods.pause, { id: idOf(request), pause }))
    },
  },
  {
    ...change,
    path: '/v1/deployment/promote/:deployment_id',
    summary: 'Promote healthy canaries: they replace what was there before',
    bodySchema: Type.Object({
      All: Type.Optional(flag('Of all groups')),
      Groups: Type.Optional(
        nullable(Type.Array(Type.String(), { description: 'Of these, where All is not true' })),
      ),
    }),
    example: {
      url: `/v1/deployment/promote/${exampleId}`,
      body: { All: true },
      shownOnly: none,
    },
    handle: async (request) => {
      const fields = request.fields()
      const groups = fields.texts('Groups')
      const isAll = fields.boolean('All') ?? false
      if (!isAll && (groups === undefined || groups.length === 0)) {
        const text = 'name the groups to promote in Groups, or say All'
        throw new MusterError('invalid_argument', text)
      }
      const args = { id: idOf(request), groups: isAll ? null : [...(groups ?? [])] }
      return changed(await request.call(deploymentMethods.promote, args))
    },
  },
  {
    ...change,
    path: '/v1/deployment/unblock/:deployment_id',
    summary: 'Unblock a deployment of several regions: there is none, so it is refused',
    example: { url: `/v1/deployment/unblock/${exampleId}`, shownOnly: none },
    body: 'none',
    handle: async (request) =>
      changed(await request.call(deploymentMethods.unblock, { id: idOf(request) })),
  },
  {
    method: 'GET',
    path: '/v1/job/:job_id/deployments',
    summary: 'Deployments of a job',
    permission: 'namespace:read-job',
    params: ofJob,
    query: {
      ...blocking,
      ...inNamespace,
      ...optionally({ all: flag('Also those of a purged job that had the id before') }),
    },
    reply: ok(Type.Array(Deployment)),
    example: { url: '/v1/job/web/deployments' },
    handle: async (request) => {
      const { value } = await request.query(deploymentMethods.ofJob, {
        ...jobOf(request),
        all: request.search.boolean('all') ?? false,
      })
      return listReply(value, shownDeployment)
    },
  },
  {
    method: 'GET',
    path: '/v1/job/:job_id/deployment',
    summary: 'The newest deployment of a job',
    permission: 'namespace:read-job',
    params: ofJob,
    query: { ...blocking, ...inNamespace },
    reply: ok(nullable(Deployment)),
    example: { url: '/v1/job/web/deployment' },
    handle: async (request) => {
      const { value } = await request.query(deploymentMethods.newestOfJob, jobOf(request))
      return { jsonOf: () => (value === null ? null : shownDeployment(value)) }
    },
  },
]

function changed({ index, ...change }: DeploymentChanged): ApiReply {
  return { index, json: shownChange(index, change) }
}

function idOf(request: ApiRequest): string {
  return request.parameter('deployment_id')
}

function jobOf(request: ApiRequest) {
  return {
    namespace: oneNamespace(request.namespace),
    jobId: request.parameter('job_id'),
  }
}
