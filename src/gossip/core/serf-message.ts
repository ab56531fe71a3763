/**
 * The messages of the membership layer that come in packets, each to its file.
 */
import { eventHeard, passOnEvent } from './events.ts'
import { passOnQuery, queryHeard, relayHeard, responseHeard } from './queries.ts'
import { broadcast, type Pool } from './serf.ts'
import { joinIntended, leaveIntended } from './member-status.ts'

/** What is news is passed on with the bytes it came in. */
export function serfMessage(pool: Pool, bytes: Uint8Array): void {
  const { swim, serf } = pool
  const message = swim.codec.decode(bytes)
  switch (message?.type) {
    case 'leave-intent':
      if (leaveIntended(pool, message)) broadcast(pool, serf.intents, message.node, bytes)
      return
    case 'join-intent':
      if (joinIntended(pool, message)) broadcast(pool, serf.intents, message.node, bytes)
      return
    case 'user-event': {
      const { time, name, payload } = message
      const event = { name, payload }
      if (eventHeard(pool, time, event)) passOnEvent(pool, bytes)
      return
    }
    case 'query':
      if (queryHeard(pool, message)) passOnQuery(pool, message, bytes)
      return
    case 'query-response':
      responseHeard(pool, message)
      return
    case 'relay':
      relayHeard(pool, message)
      return
    default:
      swim.counters.userMessagesInvalid += 1
  }
}
