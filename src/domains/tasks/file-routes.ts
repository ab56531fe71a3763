/** `/v1/client/fs/…`: files of tasks, from whichever agent has them. */
import type { DescribedRoute } from '../../api/route.ts'
import {
  consistency,
  count,
  flag,
  frames,
  jsonType,
  optionally,
  text,
  textType,
} from '../../api/shape.ts'
import { allocationOf, exampleId, named, oneOf, placeOf } from './agent-routes.ts'
import { bytesOf, framesOf } from './frames.ts'
import { taskMethods } from './methods.ts'
import { logKinds } from './services.ts'
import { FileFrame } from './shapes.ts'

const origins = ['start', 'end'] as const
const originText = '`start`, which is the default, or `end`: where the offset counts from'
const shownOnly = 'no allocation has this ID'

export const fileRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/client/fs/logs/:alloc_id',
    summary: 'Read or follow the output of a task',
    permission: 'namespace:read-logs',
    params: named,
    query: {
      task: text('Name of the task'),
      ...optionally({
        type: text('`stdout`, which is the default, or `stderr`'),
        follow: flag('Go on with what is written later'),
        origin: text(originText),
        offset: count('Bytes'),
        plain: flag('The bytes as they are instead of frames'),
      }),
      ...consistency,
    },
    reply: {
      200: {
        [jsonType]: frames(FileFrame, 'Frames'),
        [textType]: text('The output'),
      },
    },
    errors: ['not_found'],
    example: { url: `/v1/client/fs/logs/${exampleId}?task=web&plain=true`, shownOnly },
    handle: async (request) => {
      const { search, clock } = request
      const args = {
        allocation: allocationOf(request),
        task: search.text('task') ?? '',
        kind: oneOf('type', search.text('type') || 'stdout', logKinds),
        origin: oneOf('origin', search.text('origin') || 'start', origins),
        offset: search.integer('offset', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0,
        follow: search.boolean('follow'),
      }
      const isPlain = search.boolean('plain')
      const chunks = await request.open(taskMethods.logs, args, await placeOf(request, 'read-logs'))
      return isPlain
        ? { stream: bytesOf(chunks), type: 'text/plain; charset=utf-8' }
        : { stream: framesOf(chunks, clock), type: 'application/json' }
    },
  },
]
