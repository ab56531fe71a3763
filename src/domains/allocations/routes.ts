/** `/v1/allocations`, `/v1/allocation/:id`, and allocations of a node, a job or an evaluation. */
import { Type } from 'typebox'
import { oneNamespace } from '../../api/one-namespace.ts'
import { forwardPageOf, listReply } from '../../api/pages.ts'
import { smallBodyBytesMax, type DescribedRoute } from '../../api/route.ts'
import {
  blocking,
  done,
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
import { DeploymentChange } from '../deployments/shapes.ts'
import { shownChange } from '../deployments/shown.ts'
import { judgedMax } from './health-commands.ts'
import { allocationMethods, type WholeAllocation } from './methods.ts'
import { defaultNamespace, staticPortsOf } from './model.ts'
import { Allocation, AllocationStopped, AllocationStub } from './shapes.ts'
import { shownAllocation, shownJob, shownStub } from './shown.ts'

const ofDeployment = { deployment_id: text('The whole UUID of the deployment') }
const named = { alloc_id: text('The whole UUID of the allocation') }

export const allocationRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/allocations',
    summary: 'List allocations',
    permission: 'filtered',
    query: {
      ...blocking,
      ...listing,
      ...forwardOnly,
      ...inNamespace,
      ...optionally({
        resources: flag('With `AllocatedResources`'),
        task_states: flag('With `TaskStates`, unless it is `false`'),
      }),
    },
    reply: ok(Type.Array(AllocationStub)),
    example: {},
    handle: async (request) => {
      const namespace = request.namespace ?? defaultNamespace
      const args = { ...forwardPageOf(request), namespace }
      const { value } = await request.query(allocationMethods.list, args)
      const extras = {
        resources: request.search.boolean('resources'),
        taskStates: request.search.boolean('task_states', true),
      }
      return listReply(value, (listed) => shownStub(listed, extras))
    },
  },
  {
    method: 'GET',
    path: '/v1/allocation/:alloc_id',
    summary: 'Read an allocation',
    permission: 'namespace:read-job',
    params: named,
    query: blocking,
    reply: ok(Allocation),
    errors: ['not_found'],
    example: { url: `/v1/allocation/${exampleId}`, status: 404 },
    handle: async (request) => {
      const args = { id: request.parameter('alloc_id') }
      const { value } = await request.query(allocationMethods.read, args)
      if (value === null) return { status: 404, text: 'alloc not found' }
      return { jsonOf: () => shownWhole(value) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/allocation/:alloc_id/stop',
    summary: 'Stop an allocation; its job places another one',
    permission: 'namespace:alloc-lifecycle',
    params: named,
    query: optionally({ no_shutdown_delay: flag('End its tasks without their `shutdown_delay`') }),
    reply: ok(AllocationStopped),
    errors: ['not_found'],
    example: {
      url: `/v1/allocation/${exampleId}/stop`,
      shownOnly: 'there is no allocation until a client agent runs work',
    },
    body: 'none',
    handle: async (request) => {
      const args = {
        id: request.parameter('alloc_id'),
        skipsDelay: request.search.boolean('no_shutdown_delay'),
      }
      const { index, evaluation } = await request.call(allocationMethods.stop, args)
      return { index, json: { EvalID: evaluation, Index: index } }
    },
  },
  {
    method: 'PUT',
    path: '/v1/system/gc',
    summary: 'Forget allocations and evaluations that are over, however new',
    permission: 'operator:write',
    reply: done,
    example: { body: {} },
    body: 'none',
    handle: async (request) => {
      await request.call(allocationMethods.collect, {})
      return {}
    },
  },
  {
    method: 'GET',
    path: '/v1/node/:node_id/allocations',
    summary: 'Allocations of a client node',
    permission: 'node:read',
    params: { node_id: text('The whole UUID of the node') },
    query: blocking,
    reply: ok(Type.Array(Allocation)),
    example: { url: `/v1/node/${exampleId}/allocations` },
    handle: async (request) => {
      const args = { id: request.parameter('node_id') }
      const { value } = await request.query(allocationMethods.ofNode, args)
      return listReply(value, shownWhole)
    },
  },
  {
    method: 'GET',
    path: '/v1/job/:job_id/allocations',
    summary: 'Allocations of a job',
    permission: 'namespace:read-job',
    params: { job_id: text('Id of the job') },
    query: {
      ...blocking,
      ...inNamespace,
      ...optionally({ all: flag('Also those of a purged job that had the id before') }),
    },
    reply: ok(Type.Array(AllocationStub)),
    example: { url: '/v1/job/web/allocations' },
    handle: async (request) => {
      const args = {
        namespace: oneNamespace(request.namespace),
        jobId: request.parameter('job_id'),
        all: request.search.boolean('all'),
      }
      const { value } = await request.query(allocationMethods.ofJob, args)
      return listReply(value, shownStub)
    },
  },
  {
    method: 'GET',
    path: '/v1/evaluation/:eval_id/allocations',
    summary: 'Allocations that an evaluation placed or changed last',
    permission: 'filtered',
    params: { eval_id: text('The whole UUID of the evaluation') },
    query: blocking,
    reply: ok(Type.Array(AllocationStub)),
    example: { url: `/v1/evaluation/${exampleId}/allocations` },
    handle: async (request) => {
      const args = { id: request.parameter('eval_id') }
      const { value } = await request.query(allocationMethods.ofEvaluation, args)
      return listReply(value, shownStub)
    },
  },
  {
    method: 'GET',
    path: '/v1/deployment/allocations/:deployment_id',
    summary: 'Allocations of a deployment',
    permission: 'filtered',
    params: ofDeployment,
    query: blocking,
    reply: ok(Type.Array(AllocationStub)),
    example: { url: `/v1/deployment/allocations/${exampleId}` },
    handle: async (request) => {
      const args = { id: request.parameter('deployment_id') }
      const { value } = await request.query(allocationMethods.ofDeployment, args)
      return listReply(value, shownStub)
    },
  },
  {
    method: 'PUT',
    path: '/v1/deployment/allocation-health/:deployment_id',
    summary: 'Say which allocations of a deployment are healthy; unhealthy ones fail it',
    permission: 'namespace:submit-job',
    params: ofDeployment,
    bodySchema: Type.Object({
      HealthyAllocationIDs: Type.Optional(nullable(Type.Array(Type.String()))),
      UnhealthyAllocationIDs: Type.Optional(nullable(Type.Array(Type.String()))),
    }),
    bodyBytesMax: smallBodyBytesMax,
    reply: ok(DeploymentChange),
    errors: ['not_found'],
    example: {
      url: `/v1/deployment/allocation-health/${exampleId}`,
      body: { HealthyAllocationIDs: [exampleId] },
      shownOnly: 'there is no deployment until a client agent runs work',
    },
    handle: async (request) => {
      const fields = request.fields()
      const healthy = fields.texts('HealthyAllocationIDs') ?? []
      const unhealthy = fields.texts('UnhealthyAllocationIDs') ?? []
      const count = Math.max(healthy.length, unhealthy.length)
      if (count === 0 || count > judgedMax) {
        const text = `name 1 to ${judgedMax} allocations in HealthyAllocationIDs or UnhealthyAllocationIDs`
        throw new MusterError('invalid_argument', text)
      }
      const args = { id: request.parameter('deployment_id') }
      const ids = { healthy: [...healthy], unhealthy: [...unhealthy] }
      const { index, ...done } = await request.call(allocationMethods.judge, { ...args, ...ids })
      return { index, json: shownChange(index, done) }
    },
  },
]

function shownWhole({ row, version, job, isCanary }: WholeAllocation) {
  const staticPorts = version === null ? [] : staticPortsOf(version.spec, row)
  return {
    ...shownAllocation(row, { isCanary, staticPorts }),
    Job: version === null ? null : shownJob(version, job),
  }
}
