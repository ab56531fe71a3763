/**
 * The mutable state of the failure detector, its outbox, and what it wants of the layer above. The files `claims`,
 * `probe`, `relay`, `spread` and `exchange` are functions over it.
 */
import type { Random } from '../../lib/random.ts'
import type { Awareness } from './awareness.ts'
import type { Broadcasts } from './broadcasts.ts'
import type { Coordinate, OwnCoordinate } from './coordinate.ts'
import type { Member, Members } from './members.ts'
import type { Endpoint, PacketMessage, SerfMessage, Versions } from './message.ts'
import type { StallAllowance } from './stall-allowance.ts'
import type { Profile } from './profile.ts'
import type { Exchange, GossipEvent, Packet, StreamPing } from './ready.ts'
import type { StreamPath, Suspicion } from './suspicion.ts'

/** Bytes are not the core's business: the owner provides this. */
export type Codec = {
  /** Bytes of one packet element with its type byte. */
  sizeOf(message: PacketMessage): number
  encode(message: SerfMessage): Uint8Array
  /** Null: not a message of this layer, or a broken one. */
  decode(bytes: Uint8Array): SerfMessage | null
  /** Throws `too_large` above `metaBytesMax`. */
  encodeTags(tags: ReadonlyMap<string, string>): Uint8Array
  /** Null: not tags. */
  decodeTags(meta: Uint8Array): ReadonlyMap<string, string> | null
  /** The payload of an ack. */
  encodeCoordinate(coordinate: Coordinate): Uint8Array
  /** Null: not one. */
  decodeCoordinate(payload: Uint8Array): Coordinate | null
  /** Whether a query's filters let this member answer. */
  matches(
    filters: readonly Uint8Array[],
    member: { readonly name: string; readonly tags: ReadonlyMap<string, string> },
  ): boolean
}

/** What the failure detector tells and asks the membership layer. */
export type Upper = {
  /** `again`: it was known, and gone. */
  memberJoined(member: Member, again: boolean): void
  memberUpdated(member: Member): void
  memberGone(member: Member): void
  memberForgotten(member: Member): void
  /** Another member thinks this one gone: it must be heard in that layer too. */
  selfCalledGone(): void
  memberSuspected(member: Member, suspicion: Suspicion): void
  memberTrusted(member: Member, suspicion: Suspicion): void
  memberReach(member: Member): void
  userMessage(bytes: Uint8Array): void
  localState(): Uint8Array
  mergeState(bytes: Uint8Array, join: boolean): void
}

/** What was refused or thrown away, by reason. Each is a number an operator may graph. */
export type Counters = {
  claimsUnknown: number
  claimsInvalid: number
  claimsBeyondBounds: number
  claimsIncompatible: number
  claimsNoRoom: number
  nameConflicts: number
  acksUnknown: number
  coordinatesInvalid: number
  pingsForOthers: number
  relaysRefused: number
  userMessagesInvalid: number
  newsTooLarge: number
  timesRefused: number
  eventsRefused: number
  probesSent: number
  probesFailed: number
  suspicionsRaised: number
  refutations: number
  packetsSent: number
  messagesSent: number
}

/** How many messages of each kind went in packets. */
export type MessageCounts = Record<PacketMessage['type'], number>

export function zeroMessages(): MessageCounts {
  return {
    ping: 0,
    'indirect-ping': 0,
    ack: 0,
    nack: 0,
    alive: 0,
    suspect: 0,
    dead: 0,
    user: 0,
  }
}

export function zeroCounters(): Counters {
  return {
    claimsUnknown: 0,
    claimsInvalid: 0,
    claimsBeyondBounds: 0,
    claimsIncompatible: 0,
    claimsNoRoom: 0,
    nameConflicts: 0,
    acksUnknown: 0,
    coordinatesInvalid: 0,
    pingsForOthers: 0,
    relaysRefused: 0,
    userMessagesInvalid: 0,
    newsTooLarge: 0,
    timesRefused: 0,
    eventsRefused: 0,
    probesSent: 0,
    probesFailed: 0,
    suspicionsRaised: 0,
    refutations: 0,
    packetsSent: 0,
    messagesSent: 0,
  }
}

/** Invariant: `indirectAt <= plainDeadline`, and `plainDeadline <= deadline` unless the target refused. */
export type Probe = {
  readonly member: Member
  readonly sequence: number
  readonly sentAt: number
  /** When the others are asked; null once they were. */
  indirectAt: number | null
  deadline: number
  /** What `deadline` were in full health. */
  plainDeadline: number
  readonly allowance: StallAllowance
  helpers: readonly Member[]
  nacksWanted: number
  readonly nackedBy: Endpoint[]
  streamId: number | null
  stream: StreamPath
}

/** A ping on behalf of another member. */
export type Relay = {
  readonly asker: Endpoint
  readonly askerSequence: number
  /** When the asker is told that there was no answer yet; null: it was, or does not care. */
  nackAt: number | null
  deadline: number
}

export type PendingExchange = {
  readonly to: Endpoint
  readonly join: boolean
  readonly replayEvents: boolean
  deadline: number
}

export type Swim = {
  readonly self: Member
  readonly profile: Profile
  readonly random: Random
  readonly codec: Codec
  /** See `CoreOptions`. */
  readonly ownerTag: string | null
  readonly versions: Versions
  readonly members: Members
  readonly awareness: Awareness
  readonly coordinate: OwnCoordinate
  /** Those of the failure detector first, then those of the layer above by urgency. */
  readonly queues: readonly Broadcasts[]
  readonly claims: Broadcasts
  /** The running ones, by name. */
  readonly suspicions: Map<string, Suspicion>
  readonly relays: Map<number, Relay>
  readonly exchanges: Map<number, PendingExchange>
  readonly counters: Counters
  readonly sent: MessageCounts
  readonly received: MessageCounts
  readonly upper: Upper
  now: number
  /** 32 bits, starts at random so that answers cannot be guessed from outside. */
  sequence: number
  nextId: number
  probe: Probe | null
  probeAt: number
  gossipAt: number
  pushPullAt: number
  /** This member announced its leave: it objects no longer. */
  leaving: boolean
  out: Outbox
}

export type Outbox = {
  packets: Packet[]
  exchanges: Exchange[]
  streamPings: StreamPing[]
  events: GossipEvent[]
}

export function emptyOutbox(): Outbox {
  return { packets: [], exchanges: [], streamPings: [], events: [] }
}

/** Sequence numbers wrap at 32 bits. */
export function nextSequence(swim: Swim): number {
  swim.sequence = (swim.sequence + 1) % 2 ** 32
  return swim.sequence
}

export function nextId(swim: Swim): number {
  swim.nextId += 1
  return swim.nextId
}
