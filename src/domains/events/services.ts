/** What the streams of events use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { ChangeSource, EventBuffer, EventBufferLimits } from './buffer.ts'
import type { ShownEvents } from './shown-events.ts'
import type { AnyTopic } from './topic.ts'

/** Provided by the server: what is applied here. */
export const changeSource = serviceKey<ChangeSource>('events.changes')
/** Provided by the server. */
export const bufferLimits = serviceKey<EventBufferLimits>('events.limits')

export const eventBuffer = serviceKey<EventBuffer>('events.buffer')
export const eventTelling = serviceKey<{
  /** Of all domains. */
  readonly topics: readonly AnyTopic[]
  readonly shown: ShownEvents
}>('events.telling')
