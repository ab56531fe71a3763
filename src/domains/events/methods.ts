/** What may be asked about events: to be told of them. */
import { Type } from 'typebox'
import { defineStreamMethod, type StreamContext } from '../../rpc/method.ts'
import { openView } from '../host.ts'
import { placeTaker } from '../../rpc/places.ts'
import { lacksAll, mustMay } from '../../rpc/refusal.ts'
import type { EventBuffer } from './buffer.ts'
import { framesFor } from './reader.ts'
import { Selection, wantedKeyLengthMax, wantedMax } from './selection.ts'
import { eventBuffer, eventTelling } from './services.ts'

/**
 * Frames as they are to be sent together. `index`: the first whose events are wanted; 0: the first that is kept; null:
 * from now on. With `snapshot` as well, it begins with what there is unless `index` is kept still.
 */
const stream = defineStreamMethod({
  kind: 'stream',
  name: 'events.stream',
  args: Type.Object({
    topics: Type.Array(
      Type.Object({
        topic: Type.String(),
        key: Type.String({ maxLength: wantedKeyLengthMax }),
        prefix: Type.Boolean(),
      }),
      { minItems: 1, maxItems: wantedMax },
    ),
    namespace: Type.String(),
    index: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    snapshot: Type.Boolean(),
    progress: Type.Boolean(),
  }),
  requires: () => ({ resource: 'none' }),
  open: async (context, args) => {
    const { topics, shown } = context.service(eventTelling)
    const buffer = context.service(eventBuffer)
    const selection = new Selection(topics, args.topics, args.namespace)
    for (const { requires } of selection.named) {
      if (requires !== null) mustMay(context, requires)
    }
    await assertMaySeeSome(context, selection)
    const from = firstOf(args.index, buffer)
    const resumes = args.index !== null && args.index > 0 && from >= buffer.firstIndex
    const snapshot = args.snapshot && !resumes
    if (!snapshot) buffer.assertKept(from)
    const reading = { selection, context, from, snapshot, progress: args.progress }
    const view = context.service(openView)
    const { clock } = context
    const frames = framesFor({ buffer, shown, view, clock, ...reading })
    return counted(frames, buffer.join(placeTaker(context.caller, context)))
  },
})

export const eventMethods = { stream }

/** Throws for a caller who can be shown nothing of what it asks for, before it takes a place. */
async function assertMaySeeSome(context: StreamContext, { asked }: Selection): Promise<void> {
  const maySeeSome = (): boolean => asked.some(({ least }) => context.maySeeSome(least))
  if (maySeeSome()) return
  // Its token may have been given rights a moment ago.
  if (context.caller.token !== null) {
    await context.freshenPermissions()
    if (maySeeSome()) return
  }
  throw lacksAll(
    context,
    asked.map(({ least }) => least),
  )
}

function firstOf(index: number | null, buffer: EventBuffer): number {
  if (index === null) return buffer.appliedIndex + 1
  return index === 0 ? buffer.firstIndex : index
}

/** Calls `onEnd` once, also when nothing was ever read. */
function counted<Item>(
  items: AsyncGenerator<Item>,
  onEnd: () => void,
): AsyncIterableIterator<Item> {
  let over = false
  const end = (): void => {
    if (!over) onEnd()
    over = true
  }
  const iterator: AsyncIterableIterator<Item> = {
    [Symbol.asyncIterator]: () => iterator,
    async next() {
      try {
        const result = await items.next()
        if (result.done === true) end()
        return result
      } catch (error) {
        end()
        throw error
      }
    },
    async return() {
      end()
      await items.return(undefined)
      return { value: undefined, done: true }
    },
  }
  return iterator
}
