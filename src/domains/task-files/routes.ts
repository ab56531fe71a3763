/** `/v1/client/fs/…`: files of tasks, from whichever agent has them. */
import type { ApiRequest, DescribedRoute, PlaceOptions } from '../../api/route.ts'
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
import { MusterError } from '../../lib/errors.ts'
import { framesOf, bytesOf } from './frames.ts'
import { taskFileMethods } from './methods.ts'
import { logKinds, taskFiles } from './services.ts'
import { FileFrame } from './shapes.ts'

export const taskFilePaths = '/v1/client/fs/'

export const taskFileRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/client/fs/logs/:alloc_id',
    summary: 'Read or follow the output of a task',
    permission: 'namespace:read-logs',
    params: { alloc_id: text('The whole ID of the allocation') },
    query: {
      task: text('Name of the task'),
      ...optionally({
        type: text('`stdout`, which is the default, or `stderr`'),
        follow: flag('Go on with what is written later'),
        origin: text('`start`, which is the default, or `end`: where the offset counts from'),
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
    example: {
      url: '/v1/client/fs/logs/5456bd7a-9fc0-c0dd-6131-cbee77f57577?task=web&plain=true',
      shownOnly: 'no allocation has this ID',
    },
    handle: async (request) => {
      const { search, clock } = request
      const allocation = request.parameter('alloc_id').toLowerCase()
      const args = {
        allocation,
        task: search.text('task') ?? '',
        kind: oneOf('type', search.text('type') || 'stdout', logKinds),
        origin: oneOf('origin', search.text('origin') || 'start', ['start', 'end'] as const),
        offset: search.integer('offset', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0,
        follow: search.boolean('follow'),
      }
      const isPlain = search.boolean('plain')
      const place = await placeOf(request, allocation)
      const chunks = await request.open(taskFileMethods.logs, args, place)
      return isPlain
        ? { stream: bytesOf(chunks), type: 'text/plain; charset=utf-8' }
        : { stream: framesOf(chunks, clock), type: 'application/json' }
    },
  },
]

/** A server asks the agent of the node; an agent has the files itself. */
async function placeOf(request: ApiRequest, allocation: string): Promise<PlaceOptions> {
  if (request.service(taskFiles) !== null) return {}
  const { value } = await request.query(taskFileMethods.place, { allocation })
  return { node: value }
}

function oneOf<Word extends string>(name: string, given: string, words: readonly Word[]): Word {
  const word = words.find((known) => known === given)
  if (word !== undefined) return word
  throw new MusterError('invalid_argument', `${name} must be one of ${words.join(', ')}`)
}
