/** `/v1/client/fs/…`: files of tasks, from whichever agent has them. */
import { Type } from 'typebox'
import { oneOf } from '../../api/one-of.ts'
import type { ApiRequest, DescribedRoute } from '../../api/route.ts'
import {
  bytes,
  consistency,
  count,
  flag,
  frames,
  jsonType,
  ok,
  optionally,
  text,
  textType,
} from '../../api/shape.ts'
import { dateText } from '../../lib/date-text.ts'
import { MusterError } from '../../lib/errors.ts'
import { allocationOf, exampleId, named, placeOf } from './agent-routes.ts'
import { bytesOf, framesOf, lookedAtBytes, typedBytes } from './frames.ts'
import { taskMethods } from './methods.ts'
import {
  logKinds,
  type FileChunk,
  type FileInfo as Info,
  type FileOf,
  type FileToRead,
} from './services.ts'
import { FileFrame, FileInfo } from './shapes.ts'

const origins = ['start', 'end'] as const
const originText = '`start`, which is the default, or `end`: where the offset counts from'
const plainType = 'text/plain; charset=utf-8'
const bytesType = 'application/octet-stream'
const file = (description: string) => ({
  [textType]: text(description),
  [bytesType]: bytes(`${description}, where it begins with bytes that no text has`),
})
const pathQuery = optionally({
  path: text('Of the file, from the folder of the allocation; `/` unless said'),
})
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
      const place = await placeOf(request, 'read-logs')
      const args = {
        allocation: allocationOf(request),
        task: search.text('task') ?? '',
        kind: oneOf('type', search.text('type') || 'stdout', logKinds),
        origin: oneOf('origin', search.text('origin') || 'start', origins),
        offset: search.integer('offset', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0,
        follow: search.boolean('follow'),
      }
      const isPlain = search.boolean('plain')
      const chunks = await request.open(taskMethods.logs, args, place)
      return isPlain
        ? { stream: bytesOf(chunks), type: plainType }
        : { stream: framesOf(chunks, clock), type: 'application/json' }
    },
  },
  {
    method: 'GET',
    path: '/v1/client/fs/ls/:alloc_id',
    summary: 'List files of an allocation',
    permission: 'namespace:read-fs',
    params: named,
    query: { ...pathQuery, ...consistency },
    reply: ok(Type.Array(FileInfo)),
    errors: ['not_found'],
    example: { url: `/v1/client/fs/ls/${exampleId}?path=/alloc/logs`, shownOnly },
    handle: async (request) => {
      const infos = await request.call(
        taskMethods.list,
        fileOf(request),
        await placeOf(request, 'read-fs'),
      )
      return { json: infos.map(shownInfo) }
    },
  },
  {
    method: 'GET',
    path: '/v1/client/fs/stat/:alloc_id',
    summary: 'Read what is known of a file of an allocation',
    permission: 'namespace:read-fs',
    params: named,
    query: { ...pathQuery, ...consistency },
    reply: ok(FileInfo),
    errors: ['not_found'],
    example: { url: `/v1/client/fs/stat/${exampleId}?path=/alloc/logs/web.stdout.0`, shownOnly },
    handle: async (request) => {
      const place = await placeOf(request, 'read-fs')
      const info = await request.call(taskMethods.stat, fileOf(request), place)
      const type = info.isDir ? null : await typeOf(request)
      return { json: { ...shownInfo(info), ...(type !== null && { ContentType: type }) } }
    },
  },
  {
    method: 'GET',
    path: '/v1/client/fs/cat/:alloc_id',
    summary: 'Read a file of an allocation',
    permission: 'namespace:read-fs',
    params: named,
    query: { ...pathQuery, ...consistency },
    reply: { 200: file('The file') },
    errors: ['not_found'],
    example: { url: `/v1/client/fs/cat/${exampleId}?path=/alloc/logs/web.stdout.0`, shownOnly },
    handle: async (request) => fileReply(await chunksOf(request, () => ({}))),
  },
  {
    method: 'GET',
    path: '/v1/client/fs/readat/:alloc_id',
    summary: 'Read a part of a file of an allocation',
    permission: 'namespace:read-fs',
    params: named,
    query: {
      ...pathQuery,
      offset: count('Where it begins, in bytes'),
      limit: Type.Integer({ description: 'Bytes at most; 0 or less: to its end' }),
      ...consistency,
    },
    reply: { 200: file('The part') },
    errors: ['not_found'],
    example: {
      url: `/v1/client/fs/readat/${exampleId}?path=/alloc/logs/web.stdout.0&offset=0&limit=100`,
      shownOnly,
    },
    handle: async (request) => {
      const chunks = await chunksOf(request, () => ({
        offset: mustHave(request, 'offset', 0),
        limit: limitOf(mustHave(request, 'limit', Number.MIN_SAFE_INTEGER)),
      }))
      return fileReply(chunks)
    },
  },
  {
    method: 'GET',
    path: '/v1/client/fs/stream/:alloc_id',
    summary: 'Follow a file of an allocation',
    permission: 'namespace:read-fs',
    params: named,
    query: {
      ...pathQuery,
      ...optionally({
        follow: flag('Go on with what is written later; true unless said'),
        origin: text(originText),
        offset: count('Bytes'),
      }),
      ...consistency,
    },
    reply: { 200: { [jsonType]: frames(FileFrame, 'Frames') } },
    errors: ['not_found'],
    example: { url: `/v1/client/fs/stream/${exampleId}?path=/alloc/logs/web.stdout.0`, shownOnly },
    handle: async (request) => {
      const { search, clock } = request
      const chunks = await chunksOf(request, () => ({
        origin: oneOf('origin', search.text('origin') || 'start', origins),
        offset: search.integer('offset', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0,
        follow: !search.has('follow') || search.boolean('follow'),
      }))
      return { stream: framesOf(chunks, clock), type: jsonType }
    },
  },
]

/** Null: it cannot be read. */
async function typeOf(request: ApiRequest): Promise<string | null> {
  try {
    const chunks = await chunksOf(request, () => ({ limit: lookedAtBytes }))
    const { type, stream } = await fileReply(chunks)
    await stream.return?.()
    return type
  } catch {
    return null
  }
}

async function fileReply(chunks: AsyncIterableIterator<FileChunk>) {
  const { isText, stream } = await typedBytes(chunks)
  return { stream, type: isText ? plainType : bytesType }
}

function fileOf(request: ApiRequest): FileOf {
  return { allocation: allocationOf(request), path: request.search.text('path') || '/' }
}

/** What is asked for is looked at once it is known that the caller may ask. */
async function chunksOf(request: ApiRequest, part: () => Partial<Omit<FileToRead, keyof FileOf>>) {
  const place = await placeOf(request, 'read-fs')
  const whole = { origin: 'start', offset: 0, limit: null, follow: false } as const
  return request.open(taskMethods.read, { ...whole, ...part(), ...fileOf(request) }, place)
}

/** Nomad's tools ask for -1 where they want the rest. */
function limitOf(asked: number): number | null {
  return asked > 0 ? asked : null
}

function mustHave({ search }: ApiRequest, name: string, min: number): number {
  const value = search.integer(name, { min, max: Number.MAX_SAFE_INTEGER })
  if (value !== null) return value
  throw new MusterError('invalid_argument', `${name} is missing: it is a number of bytes`)
}

function shownInfo({ name, isDir, size, mode, modifiedMs }: Info) {
  return {
    Name: name,
    IsDir: isDir,
    Size: size,
    FileMode: mode,
    ModTime: dateText(modifiedMs),
  }
}
