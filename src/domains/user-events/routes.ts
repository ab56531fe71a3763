/** `/v1/event/fire/:name` and `/v1/event/list`, as Consul's tools ask them. */
import { Type } from 'typebox'
import { readOptions, waitMsDefault } from '../../api/blocking.ts'
import type { DescribedRoute } from '../../api/route.ts'
import { blocking, ok, optionally, text } from '../../api/shape.ts'
import { waitMsMax, userEventMethods } from './methods.ts'
import { EventName, payloadBytesMax, type UserEvent, type UserEventMessage } from './model.ts'
import { UserEvent as UserEventShape } from './shapes.ts'

/** All that wait are woken by the same event, whenever they came: there is nothing to spread. */
const noJitter = { next: () => 0 }

export const userEventRoutes: readonly DescribedRoute[] = [
  {
    method: 'PUT',
    path: '/v1/event/fire/:name',
    summary: 'Fire a user event',
    permission: 'event:write',
    params: { name: EventName },
    query: optionally({
      node: text('Regular expression on names of nodes'),
      service: text('Regular expression on names of services'),
      tag: text('Regular expression on tags; with `service`'),
    }),
    reply: ok(UserEventShape),
    example: { url: '/v1/event/fire/deploy', body: 'v42' },
    switches: 'presence',
    anyRegion: true,
    body: 'bytes',
    bodyBytesMax: payloadBytesMax,
    handle: async (request) => {
      const { search } = request
      const event = await request.call(userEventMethods.fire, {
        name: request.parameter('name'),
        payload: request.bytes,
        nodeFilter: search.text('node') ?? '',
        serviceFilter: search.text('service') ?? '',
        tagFilter: search.text('tag') ?? '',
      })
      return { json: shownEvent(event, 0) }
    },
  },
  {
    method: 'GET',
    path: '/v1/event/list',
    summary: 'Recent user events that this agent knows',
    permission: 'filtered',
    query: { ...blocking, ...optionally({ name: EventName }) },
    reply: ok(Type.Array(UserEventShape)),
    example: { url: '/v1/event/list?name=deploy' },
    switches: 'presence',
    anyRegion: true,
    waitMsMax,
    handle: async (request) => {
      const name = request.search.text('name') || null
      const rules = { waitMsMax, byPresence: true, random: noJitter }
      const { minIndex, waitMs } = readOptions(request.search, rules)
      let list = null
      if (minIndex > 0) {
        request.beginWaiting()
        const args = { name, index: minIndex, waitMs: waitMs || waitMsDefault }
        const lists = await request.open(userEventMethods.next, args)
        for await (const item of lists) list = item
      }
      // A wait that the server's stop ended has no item: it is answered with what there is.
      const { events, index } = list ?? (await request.call(userEventMethods.list, { name }))
      return { json: events.map((event: UserEvent) => shownEvent(event, event.time)), index }
    },
  },
]

function shownEvent(event: UserEventMessage, time: number) {
  return {
    ID: event.id,
    Name: event.name,
    Payload: event.payload.length === 0 ? null : Buffer.from(event.payload).toString('base64'),
    NodeFilter: event.nodeFilter,
    ServiceFilter: event.serviceFilter,
    TagFilter: event.tagFilter,
    Version: event.version,
    LTime: time,
  }
}
