/**
 * User events as Consul has them: a name, some bytes, and filters that say which agents keep it. They live in gossip and in
 * each agent's memory, never in the replicated state.
 */
import { Type, type Static } from 'typebox'
import { uuidPattern } from '../../lib/uuid.ts'
import { bytesSchema } from '../../fsm/codec.ts'

export const nameLengthMax = 128
export const filterLengthMax = 128
/** Gossip takes 512 bytes in all; the method says so, by gossip's own word. */
export const payloadBytesMax = 512
/** An agent keeps so many, as Consul's do; the oldest give way. */
export const eventsKeptMax = 256
export const eventVersion = 1

const Name = Type.String({ minLength: 1, maxLength: nameLengthMax })
const Filter = Type.String({ maxLength: filterLengthMax })

export const EventName = Name

export const FireEvent = Type.Object({
  name: Name,
  payload: bytesSchema(payloadBytesMax),
  nodeFilter: Filter,
  serviceFilter: Filter,
  tagFilter: Filter,
})

export type FireEvent = Static<typeof FireEvent>

/** What travels. */
export type UserEventMessage = FireEvent & { readonly id: string; readonly version: number }

export type UserEvent = UserEventMessage & {
  /** Lamport time of its sending. */
  readonly time: number
}

/**
 * Consul's index of an event, which its clients compute too, to find their place in a list: the halves of its id as two
 * 64-bit numbers, one exclusive-or the other. Null for an id that is none, or whose index no double holds exactly.
 */
export function indexOfEvent(id: string): number | null {
  if (!uuidPattern.test(id)) return null
  const hex = id.replaceAll('-', '')
  const index = BigInt(`0x${hex.slice(0, 16)}`) ^ BigInt(`0x${hex.slice(16)}`)
  return index > 0n && index <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(index) : null
}

/**
 * An id of 16 random bytes whose index fits into a double: the first eleven bits of both halves are equal, so they vanish in
 * the exclusive-or. It stays a UUID of version 4, with 111 random bits.
 */
export function eventIdOf(random: Uint8Array): string {
  const bytes = Buffer.from(random.subarray(0, 16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  bytes[0] = bytes[8]
  bytes[1] = ((bytes[1] ?? 0) & 0x1f) | ((bytes[9] ?? 0) & 0xe0)
  const hex = bytes.toString('hex')
  const cuts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ]
  return cuts.join('-')
}
