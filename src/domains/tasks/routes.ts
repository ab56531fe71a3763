/** `/v1/client/allocation/…`: tasks, at whichever agent runs them. */
import { Type } from 'typebox'
import { smallBodyBytesMax, type ApiRequest, type DescribedRoute } from '../../api/route.ts'
import { consistency, flag, ok, optionally, text } from '../../api/shape.ts'
import { site } from '../../api/site.ts'
import { MusterError } from '../../lib/errors.ts'
import { uuidPattern } from '../../lib/uuid.ts'
import { allocationOf, exampleId, named, placeOf } from './agent-routes.ts'
import { taskMethods } from './methods.ts'
import { AllocationUsage, Done, MachineUsage } from './shapes.ts'
import { shownHost, shownUsages } from './usage-shown.ts'

const signalDefault = 'SIGKILL'
const shownOnly = 'no allocation has this ID'
/** Nomad's tools decode a body, and fail without one. */
const done = { Index: 0 }

export const taskRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/client/allocation/:alloc_id/stats',
    summary: 'What the tasks of an allocation take of their machine',
    permission: 'namespace:read-job',
    params: named,
    query: { ...optionally({ task: text('The task; without it all that run') }), ...consistency },
    reply: ok(AllocationUsage),
    errors: ['not_found'],
    example: { url: `/v1/client/allocation/${exampleId}/stats`, shownOnly },
    handle: async (request) => {
      const args = {
        allocation: allocationOf(request),
        task: request.search.text('task') ?? '',
      }
      const usages = await request.call(taskMethods.usage, args, await placeOf(request, 'read-job'))
      return { json: shownUsages(usages) }
    },
  },
  {
    method: 'GET',
    path: '/v1/client/stats',
    summary: 'What a client node has in use',
    permission: 'node:read',
    query: optionally({ node_id: text('Its UUID; a client agent answers for itself without') }),
    reply: ok(MachineUsage),
    errors: ['not_found'],
    example: { url: '/v1/client/stats', status: 400 },
    handle: async (request) => {
      const id = request.search.text('node_id')?.toLowerCase() || null
      if (id !== null && !uuidPattern.test(id)) {
        throw new MusterError('invalid_argument', 'node_id must be the whole id of a node, a UUID')
      }
      const place = id === null || id === request.service(site).nodeId ? {} : { node: id }
      return { json: shownHost(await request.call(taskMethods.hostUsage, {}, place)) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/client/allocation/:alloc_id/restart',
    summary: 'Restart tasks of an allocation in their place',
    permission: 'namespace:alloc-lifecycle',
    params: named,
    bodyBytesMax: smallBodyBytesMax,
    bodySchema: Type.Object({
      TaskName: Type.Optional(text('The task; without it all that run')),
      AllTasks: Type.Optional(flag('Also those that ended, in the order of their lifecycle')),
    }),
    reply: ok(Done),
    errors: ['not_found', 'conflict'],
    example: {
      url: `/v1/client/allocation/${exampleId}/restart`,
      body: { TaskName: 'web' },
      shownOnly,
    },
    handle: async (request) => {
      const place = await placeOf(request, 'alloc-lifecycle')
      const { task, all } = restartOf(request)
      const args = { allocation: allocationOf(request), task, all }
      await request.call(taskMethods.restart, args, place)
      return { json: done }
    },
  },
  {
    method: 'PUT',
    path: '/v1/client/allocation/:alloc_id/signal',
    summary: 'Send a signal to tasks of an allocation',
    permission: 'namespace:alloc-lifecycle',
    params: named,
    bodyBytesMax: smallBodyBytesMax,
    bodySchema: Type.Object({
      Signal: Type.Optional(text(`Its name, as SIGHUP; ${signalDefault} unless said`)),
      Task: Type.Optional(text('The task; without it all that run')),
    }),
    reply: ok(Done),
    errors: ['not_found', 'conflict'],
    example: {
      url: `/v1/client/allocation/${exampleId}/signal`,
      body: { Signal: 'SIGHUP', Task: 'web' },
      shownOnly,
    },
    handle: async (request) => {
      const place = await placeOf(request, 'alloc-lifecycle')
      const fields = request.fields()
      const args = {
        allocation: allocationOf(request),
        signal: fields.text('Signal') || signalDefault,
        task: fields.text('Task') ?? '',
      }
      await request.call(taskMethods.signal, args, place)
      return { json: done }
    },
  },
]

/** An empty body stands for all tasks that run. */
function restartOf(request: ApiRequest): { readonly task: string; readonly all: boolean } {
  if (request.json === undefined || request.json === null) return { task: '', all: false }
  const fields = request.fields()
  const task = fields.text('TaskName') ?? ''
  const all = fields.boolean('AllTasks') ?? false
  if (!all || task === '') return { task, all }
  throw new MusterError(
    'invalid_argument',
    'Task name not allowed when restarting all tasks: leave out TaskName or AllTasks',
  )
}
