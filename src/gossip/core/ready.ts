/**
 * What the core asks of the world after it took its inputs, and what it has to tell.
 *
 * `packets` may be lost; the other two are answered, with `exchanged` and `streamAnswered`, by their id, whatever
 * becomes of them.
 */
import type {
  Endpoint,
  MemberState,
  PacketMessage,
  PushPull,
  SerfQuery,
  Versions,
} from './message.ts'
import type { Reach } from './members.ts'
import type { Suspicion } from './suspicion.ts'

/** One packet: its messages belong together and fit, as `sizeOf` counts. */
export type Packet = {
  readonly to: Endpoint
  /** The receiver is known to understand checksums. */
  readonly checksum: boolean
  readonly messages: readonly PacketMessage[]
}

/** Send the state over a stream, and hand back the peer's. */
export type Exchange = {
  readonly id: number
  readonly to: Endpoint
  readonly message: PushPull
  readonly timeoutMs: number
}

/** Send the ping over a stream; the peer lives if an ack with its sequence comes back in time. */
export type StreamPing = {
  readonly id: number
  readonly to: Endpoint
  readonly ping: Extract<PacketMessage, { readonly type: 'ping' }>
  readonly timeoutMs: number
}

export type Status = 'alive' | 'leaving' | 'left' | 'failed'

/** One member as it is shown; times are those of the core's clock. */
export type MemberView = {
  readonly name: string
  readonly endpoint: Endpoint
  readonly tags: ReadonlyMap<string, string>
  readonly status: Status
  /** Lamport time of the last intent about it. */
  readonly statusTime: number
  /** When it failed or left; null while it is there. */
  readonly goneAt: number | null
  readonly state: MemberState
  readonly stateChangedAt: number
  readonly incarnation: number
  readonly versions: Versions
  readonly reach: Reach
  readonly reachChangedAt: number
  readonly goneBy: string | null
  readonly suspicion: Suspicion | null
}

export type GossipEvent =
  | { readonly type: 'member-joined'; readonly member: MemberView; readonly before: Status | null }
  | { readonly type: 'member-updated'; readonly member: MemberView }
  | { readonly type: 'member-leaving'; readonly member: MemberView }
  /** It takes back its leaving, or it never meant to. */
  | { readonly type: 'member-stays'; readonly member: MemberView }
  | { readonly type: 'member-failed'; readonly member: MemberView }
  | { readonly type: 'member-left'; readonly member: MemberView; readonly forced: boolean }
  | { readonly type: 'member-reaped'; readonly member: MemberView }
  | {
      readonly type: 'member-suspected'
      readonly member: MemberView
      readonly suspicion: Suspicion
    }
  | { readonly type: 'member-trusted'; readonly member: MemberView; readonly suspicion: Suspicion }
  | { readonly type: 'member-reach'; readonly member: MemberView }
  /** Two places claim one name; `own`: this member's. */
  | {
      readonly type: 'name-conflict'
      readonly name: string
      readonly known: Endpoint
      readonly claimed: Endpoint
      readonly own: boolean
    }
  /** Another member suspected this one, which refuted. */
  | { readonly type: 'refuted'; readonly by: string; readonly incarnation: number }
  /** This process was not run for so long; deadlines were moved, no member is suspected. */
  | { readonly type: 'held-up'; readonly ms: number }
  | {
      readonly type: 'joined-through'
      readonly id: number
      readonly to: Endpoint
      readonly error: string | null
    }
  | { readonly type: 'exchange-failed'; readonly to: Endpoint; readonly error: string }
  | {
      readonly type: 'user-event'
      readonly time: number
      readonly name: string
      readonly payload: Uint8Array
    }
  /** To be answered with `respond`, or not at all. */
  | { readonly type: 'query'; readonly query: SerfQuery }
  | {
      readonly type: 'query-answered'
      readonly id: number
      readonly from: string
      /** An acknowledgement only says that the query arrived. */
      readonly ack: boolean
      readonly payload: Uint8Array
    }
  | { readonly type: 'query-ended'; readonly id: number; readonly answers: number }
  /** The graceful leave is over; the process may stop. */
  | { readonly type: 'left-pool' }

export type Ready = {
  readonly packets: readonly Packet[]
  readonly exchanges: readonly Exchange[]
  readonly streamPings: readonly StreamPing[]
  readonly events: readonly GossipEvent[]
}
