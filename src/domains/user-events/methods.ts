/** Firing and listing user events. Both run where they arrive: gossip tells the others, and each agent has its own list. */
import { randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { firstOf, nothing } from '../../lib/async.ts'
import { MusterError } from '../../lib/errors.ts'
import { memberPattern } from '../../lib/regex/member-pattern.ts'
import { defineLocalMethod, defineStreamMethod, type LocalContext } from '../../rpc/method.ts'
import {
  EventName,
  eventIdOf,
  eventVersion,
  FireEvent,
  indexOfEvent,
  type UserEvent,
  type UserEventMessage,
} from './model.ts'
import type { UserEventPool } from './pool.ts'
import { recentEvents, userEventPool } from './services.ts'

export const waitMsMax = 600_000

const ListEvents = Type.Object({ name: Type.Union([EventName, Type.Null()]) })
const NextEvents = Type.Object({
  name: Type.Union([EventName, Type.Null()]),
  index: Type.Integer({ minimum: 0 }),
  waitMs: Type.Number({ minimum: 0, maximum: waitMsMax }),
})

export type EventList = { readonly events: readonly UserEvent[]; readonly index: number }

/** What `consul exec` fires. Taken like any other it would end well, and nothing would have run. */
const remoteCommands = '_rexec'

type May = Pick<LocalContext, 'may' | 'service'>

const fire = defineLocalMethod({
  kind: 'local',
  name: 'userEvents.fire',
  args: FireEvent,
  requires: ({ name }) => ({ resource: 'event', event: name, access: 'write' }),
  run: async (context, args): Promise<UserEventMessage> => {
    const { nodeFilter, serviceFilter, tagFilter } = args
    if (args.name === remoteCommands) {
      throw new MusterError(
        'not_implemented',
        'no agent runs commands for others; `muster lock` runs one beside a lock, `muster watch` on a change',
      )
    }
    if (tagFilter !== '' && serviceFilter === '') {
      throw new MusterError('invalid_argument', 'a tag filter needs a service filter beside it')
    }
    for (const filter of [nodeFilter, serviceFilter, tagFilter]) {
      memberPattern(filter)
    }
    const event = { ...args, id: eventIdOf(randomBytes(16)), version: eventVersion }
    present(context.service(userEventPool)).fire(event)
    return event
  },
})

const list = defineLocalMethod({
  kind: 'local',
  name: 'userEvents.list',
  args: ListEvents,
  requires: () => ({ resource: 'none' }),
  run: async (context, { name }): Promise<EventList> => shown(context, name),
})

/** One item: the list once its index is another than the one given, or the time is up. */
const next = defineStreamMethod({
  kind: 'stream',
  name: 'userEvents.next',
  args: NextEvents,
  requires: () => ({ resource: 'none' }),
  open: async function* (context, { name, index, waitMs }) {
    const isOther = (): boolean => shown(context, name).index !== index
    if (!isOther()) {
      await firstOf({
        clock: context.clock,
        ms: waitMs,
        signal: context.signal,
        listen: (found) =>
          context.service(recentEvents).onChange(() => {
            if (isOther()) found()
          }),
        timeout: nothing,
        aborted: nothing,
      })
    }
    if (!context.signal.aborted) yield shown(context, name)
  },
})

/** Of the events that the caller may read. */
function shown(context: May, name: string | null): EventList {
  present(context.service(userEventPool))
  const events = context
    .service(recentEvents)
    .list()
    .filter((event) => name === null || event.name === name)
    .filter((event) => context.may({ resource: 'event', event: event.name, access: 'read' }))
  const last = events.at(-1)
  return { events, index: (last === undefined ? null : indexOfEvent(last.id)) ?? 1 }
}

export const userEventMethods = { fire, list, next }

function present(pool: UserEventPool | null): UserEventPool {
  if (pool !== null) return pool
  throw new MusterError(
    'not_implemented',
    'this server takes part in no gossip: it has server.peers; set server.retry_join as well, or instead',
  )
}
