/** `/v1/event/stream`, over HTTP a frame a line, over WebSocket a frame a message. */
import type { ApiRequest, DescribedRoute } from '../../api/route.ts'
import { flag, inNamespace, frames as framesOf, ok, optionally, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { eventMethods } from './methods.ts'
import { defaultNamespace, wantedKeyLengthMax, wantedMax, type Wanted } from './selection.ts'
import { Frame } from './shapes.ts'

export const eventStreamPath = '/v1/event/stream'

export const eventRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: eventStreamPath,
    summary: 'Follow what changes',
    permission: 'filtered',
    query: {
      ...inNamespace,
      ...optionally({
        topic: text(
          '`Topic`, `Topic:key` or `Topic:prefix*`, once or several times; all unless said',
        ),
        index: text('Begins after this index; `now`: with what comes'),
        snapshot: flag('Begins with what there is'),
        progress: flag('Heartbeats name the index up to which all was told'),
      }),
    },
    reply: ok(framesOf(Frame, 'Frames, also one a message over WebSocket')),
    errors: ['gone'],
    example: { url: '/v1/event/stream?topic=KV&index=now', shownOnly: 'the reply does not end' },
    websocket: true,
    handle: async (request) => {
      const { search } = request
      const frames = await request.open(eventMethods.stream, {
        topics: wantedOf(request),
        namespace: request.namespace ?? defaultNamespace,
        index: indexOf(request),
        snapshot: search.flag('snapshot'),
        progress: search.flag('progress'),
      })
      const stream = request.asksForWebSocket ? each(frames) : lines(frames)
      return { stream, type: 'application/json' }
    },
  },
]

/** `Topic`, `Topic:key` or `Topic:prefix*`, as often as wanted; all topics when there is none. */
function wantedOf({ search }: ApiRequest): Wanted[] {
  const given = search.all('topic').filter((text) => text !== '')
  if (given.length > wantedMax) {
    throw new MusterError('invalid_argument', `at most ${wantedMax} topics may be named`)
  }
  return (given.length === 0 ? ['*'] : given).map((text) => {
    const cut = text.indexOf(':')
    if (cut < 0) return { topic: text, key: '', prefix: true }
    const name = text.slice(cut + 1)
    const prefix = name.endsWith('*')
    const key = prefix ? name.slice(0, -1) : name
    if (key.length > wantedKeyLengthMax) {
      throw new MusterError(
        'invalid_argument',
        `a key of a topic has at most ${wantedKeyLengthMax} characters`,
      )
    }
    return { topic: text.slice(0, cut), key, prefix }
  })
}

/** Absent is 0, as in Nomad: from the first event that is kept. `now`: none of those. */
function indexOf({ search }: ApiRequest): number | null {
  const text = search.text('index') ?? ''
  if (text === 'now') return null
  return search.integer('index', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0
}

/** Frames that came together leave together. */
function lines(frames: AsyncIterableIterator<readonly string[]>): AsyncIterableIterator<string> {
  return mapped(frames, (some) => [`${some.join('\n')}\n`])
}

function each(frames: AsyncIterableIterator<readonly string[]>): AsyncIterableIterator<string> {
  return mapped(frames, (some) => some)
}

/** Not a generator: one that was never started would not pass `return` on. */
function mapped(
  source: AsyncIterableIterator<readonly string[]>,
  textsOf: (frames: readonly string[]) => readonly string[],
): AsyncIterableIterator<string> {
  let waiting: readonly string[] = []
  let at = 0
  const iterator: AsyncIterableIterator<string> = {
    [Symbol.asyncIterator]: () => iterator,
    async next() {
      for (;;) {
        const text = waiting[at]
        at += 1
        if (text !== undefined) return { value: text, done: false }
        const result = await source.next()
        if (result.done === true) return { value: undefined, done: true }
        waiting = textsOf(result.value)
        at = 0
      }
    },
    async return() {
      waiting = []
      await source.return?.()
      return { value: undefined, done: true }
    },
  }
  return iterator
}
