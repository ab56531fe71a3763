/**
 * User events: a name and some bytes told to every member once, in no order.
 */
import { MusterError } from '../../lib/errors.ts'
import { eventBytes, eventBytesMax } from './event-ring.ts'
import type { SerfMessage, UserEvent } from './message.ts'
import { broadcast, tell, type Pool } from './serf.ts'
import { nextId } from './state.ts'

/** Own events stay small enough to travel in packets with others. */
export const ownEventBytesMax = 512

/** True: news, to be passed on. */
export function eventHeard(pool: Pool, time: number, event: UserEvent): boolean {
  const { serf, swim } = pool
  if (eventBytes(event) > eventBytesMax) {
    swim.counters.eventsRefused += 1
    return false
  }
  if (!serf.eventClock.witness(time)) {
    swim.counters.timesRefused += 1
    return false
  }
  if (time < serf.eventMinTime) return false
  if (!serf.events.add(time, event, serf.eventClock.time)) return false
  tell(pool, { type: 'user-event', time, name: event.name, payload: event.payload })
  return true
}

/** Tells everybody. Throws `too_large`. */
export function sendEvent(pool: Pool, event: UserEvent, coalesce: boolean): void {
  const { serf } = pool
  if (eventBytes(event) > ownEventBytesMax) {
    throw new MusterError(
      'too_large',
      `the event has ${eventBytes(event)} bytes with its name; at most ${ownEventBytesMax} are sent`,
    )
  }
  const time = serf.eventClock.increment()
  eventHeard(pool, time, event)
  const message: SerfMessage = { type: 'user-event', time, ...event, coalesce }
  passOnEvent(pool, message)
}

/** Only news is passed on, so no two have the same key. */
export function passOnEvent(pool: Pool, message: SerfMessage | Uint8Array): void {
  broadcast(pool, pool.serf.eventNews, String(nextId(pool.swim)), message)
}
