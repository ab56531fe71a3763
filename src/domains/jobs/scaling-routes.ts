/** `/v1/scaling/policies` and `/v1/scaling/policy/:id`. */
import { Type } from 'typebox'
import { listReply, pageOf } from '../../api/pages.ts'
import type { DescribedRoute } from '../../api/route.ts'
import {
  blocking,
  count,
  exampleId,
  flag,
  indexes,
  inNamespace,
  listing,
  mapOf,
  ok,
  optionally,
  text,
} from '../../api/shape.ts'
import { defaultNamespace } from './model.ts'
import { scalingPolicyMethods } from './scaling-methods.ts'
import { shownPolicy, shownPolicyStub } from './scaling-shown.ts'

const stub = {
  ID: text('Stays the same for a namespace, job and group of the same names'),
  Enabled: flag('For the autoscaler; the bounds hold in any case'),
  Type: text('`horizontal`: the count of a group'),
  Target: Type.Object({ Namespace: Type.String(), Job: Type.String(), Group: Type.String() }),
  ...indexes,
}

const ScalingPolicyStub = Type.Object(stub, { title: 'ScalingPolicyStub' })

const ScalingPolicy = Type.Object(
  {
    ...stub,
    Policy: mapOf(Type.Unknown(), 'For the autoscaler, as the job has it'),
    Min: count('Smallest count'),
    Max: count('Greatest count'),
  },
  { title: 'ScalingPolicy' },
)

export const scalingPolicyRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/scaling/policies',
    summary: 'List scaling policies',
    permission: 'filtered',
    query: {
      ...blocking,
      ...listing,
      ...inNamespace,
      ...optionally({ job: text('Only those of this job'), type: text('Only those of this type') }),
    },
    reply: ok(Type.Array(ScalingPolicyStub)),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(scalingPolicyMethods.list, {
        ...pageOf(request),
        namespace: request.namespace ?? defaultNamespace,
        jobId: request.search.text('job') ?? '',
        type: request.search.text('type') ?? '',
      })
      return listReply(value, shownPolicyStub)
    },
  },
  {
    method: 'GET',
    path: '/v1/scaling/policy/:policy_id',
    summary: 'Read a scaling policy',
    permission: 'namespace:read-scaling-policy',
    params: { policy_id: text('The whole UUID of the policy') },
    query: { ...blocking, ...inNamespace },
    reply: ok(ScalingPolicy),
    errors: ['not_found'],
    example: { url: `/v1/scaling/policy/${exampleId}`, status: 404 },
    handle: async (request) => {
      const { value } = await request.query(scalingPolicyMethods.read, {
        namespace: request.namespace ?? defaultNamespace,
        id: request.parameter('policy_id'),
      })
      return value === null
        ? { status: 404, text: 'policy not found' }
        : { jsonOf: () => shownPolicy(value) }
    },
  },
]
