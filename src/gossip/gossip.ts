/**
 * The entry point of `gossip`: what the rest of the program sees of a running member of a pool. `node.ts` is behind it and
 * makes one; nothing else of the folder is imported from outside.
 *
 * Durations are milliseconds, times of day Unix milliseconds, endpoints text (`192.0.2.1:4648`, `[2001:db8:…]:4648`).
 */
import type { Clock } from '../lib/clock.ts'
import type { MusterError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import type { Coordinate } from './core/coordinate.ts'
import type { Reach } from './core/members.ts'
import type { Versions } from './core/message.ts'
import type { Profile } from './core/profile.ts'
import type { Status } from './core/ready.ts'
import type { Counters, MessageCounts } from './core/state.ts'
import type { Refuses } from './admission.ts'
import type { GossipTransport } from './transport.ts'
import type { WireCounters } from './wire/counters.ts'
import type { StreamWire } from './wire/stream.ts'

export { decodeConsulEvent, encodeConsulEvent } from './wire/consul-event.ts'
export { lanProfile, localProfile } from './core/profile.ts'
export type { Coordinate, Profile, Reach, Status, Versions }

export type GossipOptions = {
  /** Unique in the pool, 1 to 128 bytes. */
  readonly name: string
  readonly tags: ReadonlyMap<string, string>
  /** An address of this machine to listen on, and the port for UDP and TCP; 0 for any that is free for both. */
  readonly bindAddress: string
  readonly bindPort: number
  /**
   * `ip` or `ip:port` that others reach this member at; without a port the one it listens on. Null: the bound address,
   * or, bound to all, the first outside address of this machine.
   */
  readonly advertise: string | null
  /** Port of an address to join that names none. */
  readonly joinPort: number
  /** In base64, 16, 24 or 32 bytes each, the one that seals first. Empty: packets and streams go in the clear. */
  readonly keys: readonly string[]
  /** Keeps pools apart that could reach each other; empty for none, as serf agents have it. */
  readonly label: string
  readonly profile: Profile
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** An invariant of gossip is broken: it has stopped, and the owner stops the process. Called once at most. */
  readonly onFatal: (error: unknown) => void
  /**
   * The keys of this member were changed, by command here or from elsewhere in the pool; the owner keeps them for the
   * next start. The caller that asked for the change gets what it throws.
   */
  readonly onKeysChanged?: (keys: readonly string[]) => void
  /**
   * A tag that is one member's for good, such as an id: a member with this tag and name is that member, also at another
   * address. Null: no tag is, and a name moves only once its holder has left, or is dead for 30 s.
   */
  readonly ownerTag?: string | null
  /** Members that are to stay out of this pool; none by default. Called for every claim: it answers at once. */
  readonly refuses?: Refuses
  /** Addresses of a name; the system's resolver unless said otherwise. */
  readonly resolve?: (name: string) => Promise<readonly string[]>
  /** What carries the bytes; sockets unless said otherwise. */
  readonly listen?: (wire: StreamWire) => Promise<GossipTransport>
}

/** Who suspected a member, and the result. */
export type SuspicionRecord = {
  readonly member: string
  readonly incarnation: number
  readonly by: string
  /** One line. */
  readonly why: string
  /** What failed to bring an answer, or brought the accusation here. */
  readonly path: 'udp' | 'udp and tcp' | 'tcp'
  /**
   * Who told of it: `name (endpoint)`, or where the word came from if no member is known there. Null: this member found
   * it by its own probe.
   */
  readonly toldBy: string | null
  readonly confirmedBy: readonly string[]
  readonly atMs: number
  /** Null: it runs, or it is the one that was declared. */
  readonly ended: {
    readonly atMs: number
    readonly how: 'refuted' | 'failed' | 'left'
    /** Who declared it; null when refuted. */
    readonly by: string | null
  } | null
}

export type MemberView = {
  readonly name: string
  readonly address: string
  readonly port: number
  readonly endpoint: string
  readonly tags: ReadonlyMap<string, string>
  readonly status: Status
  /** Doubted now, and not yet failed. */
  readonly suspected: boolean
  /** Answers over TCP and not over UDP: a packet filter is in the way. */
  readonly udpBlocked: boolean
  /** By which way it answered this member's probes last. */
  readonly reach: Reach
  readonly versions: Versions
  readonly incarnation: number
  /** Lamport time of the last intent about it. */
  readonly statusTime: number
  /** Since when the failure detector sees it as it does. */
  readonly changedAtMs: number
  /** When it failed or left, and who said so; null while it is there. */
  readonly goneAtMs: number | null
  readonly goneBy: string | null
  /** The newest, perhaps ended. */
  readonly suspicion: SuspicionRecord | null
}

export type GossipEvent =
  /** `before`: what it was when it came back; null for a newcomer. */
  | { readonly type: 'member-joined'; readonly member: MemberView; readonly before: Status | null }
  /** Tags, address or versions. */
  | { readonly type: 'member-updated'; readonly member: MemberView }
  | { readonly type: 'member-leaving'; readonly member: MemberView }
  /** It took its leaving back, or never meant to leave. */
  | { readonly type: 'member-stays'; readonly member: MemberView }
  | { readonly type: 'member-failed'; readonly member: MemberView }
  /** `forced`: it had failed, and was given up by command. */
  | { readonly type: 'member-left'; readonly member: MemberView; readonly forced: boolean }
  /** Off the list: pruned, or gone for too long. */
  | { readonly type: 'member-reaped'; readonly member: MemberView }
  | { readonly type: 'member-suspected'; readonly member: MemberView }
  | { readonly type: 'member-trusted'; readonly member: MemberView }
  /** Its UDP became blocked, or works again: `member.udpBlocked`. */
  | { readonly type: 'member-reach'; readonly member: MemberView }
  /** Two endpoints claim one name; `own`: this member's. */
  | {
      readonly type: 'name-conflict'
      readonly name: string
      readonly known: string
      readonly claimed: string
      readonly own: boolean
    }
  /** What the pool answered to whose this member's name is; `holder`: whom most of the others see under it. */
  | {
      readonly type: 'name-vote'
      readonly name: string
      readonly outcome: 'kept' | 'lost' | 'undecided'
      readonly answers: number
      readonly forThis: number
      readonly holder: string | null
    }
  | ({ readonly type: 'user-event' } & UserEvent)

export type UserEvent = {
  /** Lamport time of its sending. */
  readonly time: number
  readonly name: string
  readonly payload: Uint8Array
}

export type JoinResult = {
  /** Addresses through which the pool was reached; this member's own does not count. */
  readonly joined: number
  /** `unavailable`: no member answered there. `conflict`: one did, and does not fit. */
  readonly errors: readonly { readonly address: string; readonly error: MusterError }[]
}

/** Keys are base64. */
export type KeyOperation =
  | { readonly type: 'install' | 'use' | 'remove'; readonly key: string }
  | { readonly type: 'list' }

export type KeyReport = {
  /** Living members when the question was asked, this one included, and those that answered in time. */
  readonly members: number
  readonly answered: number
  /** By member: what went wrong there. Members that did not answer are named too. */
  readonly errors: ReadonlyMap<string, string>
  /** By key in base64: how many members hold it, and how many seal with it. For `list` only. */
  readonly keys: ReadonlyMap<string, number>
  readonly primaryKeys: ReadonlyMap<string, number>
}

export type GossipKeyring = {
  /** On this member alone. Returns its keys, the one that seals first. Throws invalid_argument without encryption. */
  here(operation: KeyOperation): readonly string[]
  /** On all members, this one included; also those that run serf. Rejects with invalid_argument without encryption. */
  everywhere(operation: KeyOperation, timeoutMs?: number): Promise<KeyReport>
}

/** Numbers for metrics. Those of `core`, `messages`, `wire` and `carrier` only grow. */
export type GossipCounters = {
  readonly core: Readonly<Counters>
  /** In packets, by kind. */
  readonly messages: {
    readonly sent: Readonly<MessageCounts>
    readonly received: Readonly<MessageCounts>
  }
  readonly wire: WireCounters
  readonly carrier: {
    readonly packetsSent: number
    readonly packetsReceived: number
    readonly bytesSent: number
    readonly bytesReceived: number
    readonly packetsDropped: number
    readonly sendErrors: number
    readonly streamsAccepted: number
    readonly streamsOpened: number
    readonly streamsTurnedAway: number
    readonly streamsTimedOut: number
  }
  /** Lengths of queues and tables. */
  readonly sizes: Readonly<Record<string, number>>
  /** 0: well; up to 7, the more the slower it is to suspect others. */
  readonly healthScore: number
  readonly membersByStatus: Readonly<Record<Status, number>>
  readonly lamport: {
    readonly members: number
    readonly events: number
    readonly queries: number
  }
}

/** Before `start`, and after `stop`, everything but these two throws unavailable. */
export interface GossipNode {
  readonly name: string
  readonly encrypted: boolean
  /** Listens; alone in its pool until it joins. Throws invalid_argument, unavailable for a port in use. */
  start(): Promise<void>
  /** At once, without a word to others, who will call it failed; `leave` first to be polite. Idempotent. */
  stop(): Promise<void>
  /**
   * Each address is a name or an IP address, with a port or without; a name is tried at all its addresses. Never
   * rejects because of an unreachable one. Rejects with invalid_argument for text that is no address.
   */
  join(addresses: readonly string[]): Promise<JoinResult>
  /** Everyone known, this member included, in no order. */
  members(): readonly MemberView[]
  member(name: string): MemberView | null
  /** By name, of those that are there and have placed themselves. */
  coordinates(): ReadonlyMap<string, Coordinate>
  local(): MemberView
  /** Resolves when the pool has heard of it, at most about 11 s later; `stop` comes next. */
  leave(): Promise<void>
  /** A failed member becomes left, for all; `prune` takes it off the lists. A living one stays. Throws not_found, invalid_argument for this member itself. */
  forceLeave(name: string, prune: boolean): void
  /**
   * Whether a member answers over a stream at `ip:port`, to its name or to what its owner's tag says; null: it could not be
   * asked. Never rejects; throws invalid_argument for what is no such address.
   */
  answers(endpoint: string, who: string, timeoutMs: number): Promise<boolean | null>
  /** Throws too_large over 512 bytes of them. */
  setTags(tags: ReadonlyMap<string, string>): void
  /** Tells everybody once. Throws too_large over 512 bytes. */
  sendUserEvent(name: string, payload: Uint8Array, coalesce: boolean): void
  /** Called for each user event that is news here, own ones included. Returns the way to stop listening. */
  onUserEvent(listener: (event: UserEvent) => void): () => void
  /** Called in order, one event after the other. Returns the way to stop listening. */
  onEvent(listener: (event: GossipEvent) => void): () => void
  readonly keyring: GossipKeyring
  counters(): GossipCounters
  /** The last 256 suspicions heard of here, the oldest first. */
  suspicions(): readonly SuspicionRecord[]
}
