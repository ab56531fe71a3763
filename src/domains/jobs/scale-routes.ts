/** `PUT /v1/job/:id/scale`; how it was scaled is read in `allocations`, which knows what runs. */
import { Type } from 'typebox'
import { oneNamespace } from '../../api/one-namespace.ts'
import { smallBodyBytesMax, type DescribedRoute } from '../../api/route.ts'
import { count, flag, inNamespace, mapOf, nullable, ok, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { isJsonObject } from '../../lib/json-object.ts'
import { evaluationShown } from './registered-routes.ts'
import { countMax, messageLengthMax, scaleMetaLengthMax } from './scale-model.ts'
import { scaleMethods } from './scale-methods.ts'
import { JobEvaluated } from './shapes.ts'

const Body = Type.Object({
  Count: Type.Optional(nullable(count('Allocations that the group is to have; absent: it stays'))),
  Target: mapOf(Type.String(), '`Group`: the name of the group'),
  Message: Type.Optional(text('Why')),
  Error: Type.Optional(flag('The scaler failed; Count must be absent')),
  Meta: Type.Optional(nullable(mapOf(Type.Unknown(), 'Kept with the event'))),
  PolicyOverride: Type.Optional(flag('Ignored: there are no policies to override')),
  EnforceIndex: Type.Optional(flag('Only if JobModifyIndex is as below')),
  JobModifyIndex: Type.Optional(count('That of the job')),
})

export const scaleRoutes: readonly DescribedRoute[] = [
  {
    method: 'PUT',
    path: '/v1/job/:job_id/scale',
    summary: 'Scale a group of a job',
    permission: 'namespace:scale-job',
    params: { job_id: text('The id of the job') },
    query: inNamespace,
    bodySchema: Body,
    bodyBytesMax: smallBodyBytesMax,
    reply: ok(JobEvaluated),
    errors: ['not_found', 'conflict'],
    example: {
      url: '/v1/job/cache/scale',
      body: { Count: 2, Target: { Group: 'cache' }, Message: 'more load' },
    },
    handle: async (request) => {
      const fields = request.fields()
      const group = fields.object('Target')?.text('Group') ?? ''
      const wanted = fields.integer('Count') ?? null
      const error = fields.boolean('Error') ?? false
      if (error && wanted !== null) throw refused('Count must be absent where Error is true')
      if (wanted !== null && (wanted < 0 || wanted > countMax)) {
        throw refused(`Count must be from 0 to ${countMax}`)
      }
      const isEnforced = fields.boolean('EnforceIndex') ?? false
      const { index, jobModifyIndex, evaluation } = await request.call(scaleMethods.scale, {
        namespace: oneNamespace(request.namespace),
        id: request.parameter('job_id'),
        group,
        count: wanted,
        error,
        message: atMost(fields.text('Message') ?? '', messageLengthMax, 'Message'),
        meta: atMost(metaOf(fields.raw('Meta')), scaleMetaLengthMax, 'Meta'),
        enforceIndex: isEnforced ? (fields.integer('JobModifyIndex') ?? 0) : null,
      })
      const json = { ...evaluationShown(index, evaluation), JobModifyIndex: jobModifyIndex }
      return { index, json }
    },
  },
]

/** As JSON. */
function metaOf(value: unknown): string {
  if (value === undefined) return '{}'
  if (!isJsonObject(value)) throw refused('Meta must be an object')
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'bigint' ? String(member) : member,
  )
}

function atMost(value: string, most: number, name: string): string {
  if (value.length <= most) return value
  throw new MusterError('too_large', `${name} has over ${most} letters`)
}

function refused(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
