/**
 * The messages of the gossip protocol, in two layers as on the wire: the failure detector's, and, carried in its user
 * messages, those of the membership layer above. Pure data; bytes are `wire/`'s business.
 *
 * `gossip/core` imports `lib` alone. Lamport times and incarnations are safe integers, times of day do not occur.
 */

/** 4 or 16 bytes and a port. An IPv4 address is always in its 4-byte form here. */
export type Endpoint = { readonly address: Uint8Array; readonly port: number }

/** Protocol and delegate versions as a member announces them: min, max, current of each. */
export type Versions = {
  readonly protocolMin: number
  readonly protocolMax: number
  readonly protocolCurrent: number
  readonly delegateMin: number
  readonly delegateMax: number
  readonly delegateCurrent: number
}

/** Whom an answer goes to. Older senders leave it out. */
export type Source = { readonly endpoint: Endpoint; readonly node: string }

export type Alive = {
  readonly type: 'alive'
  readonly incarnation: number
  readonly node: string
  readonly endpoint: Endpoint
  /** At most `metaBytesMax`. */
  readonly meta: Uint8Array
  /** Null when the sender gave none; such a member is not taken in. */
  readonly versions: Versions | null
}

/** `from` equal to `node` in a `dead` means that the member left. */
export type Accusation = {
  readonly type: 'suspect' | 'dead'
  readonly incarnation: number
  readonly node: string
  readonly from: string
}

/** What one packet element may be. */
export type PacketMessage =
  | {
      readonly type: 'ping'
      readonly sequence: number
      /** Whom the ping is for: a member ignores pings for another name. Empty in old senders. */
      readonly node: string
      readonly source: Source | null
    }
  | {
      readonly type: 'indirect-ping'
      readonly sequence: number
      readonly target: Endpoint
      readonly node: string
      readonly wantsNack: boolean
      readonly source: Source | null
    }
  | { readonly type: 'ack'; readonly sequence: number; readonly payload: Uint8Array | null }
  | { readonly type: 'nack'; readonly sequence: number }
  | Alive
  | Accusation
  /** One message of the layer above, still as bytes. */
  | { readonly type: 'user'; readonly bytes: Uint8Array }

export type MemberState = 'alive' | 'suspect' | 'dead' | 'left'

/** One member of a push/pull. */
export type PushPullNode = {
  readonly name: string
  readonly endpoint: Endpoint
  readonly meta: Uint8Array
  readonly incarnation: number
  readonly state: MemberState
  readonly versions: Versions | null
}

export type PushPull = {
  readonly type: 'push-pull'
  readonly nodes: readonly PushPullNode[]
  /** The state of the layer above, still as bytes; empty for none. */
  readonly userState: Uint8Array
  readonly join: boolean
}

/** What a stream may carry. */
export type StreamMessage =
  | PushPull
  | Extract<PacketMessage, { readonly type: 'ping' | 'ack' | 'user' }>
  | { readonly type: 'error'; readonly text: string }

export type UserEvent = { readonly name: string; readonly payload: Uint8Array }

/** Messages of the layer above. */
export type SerfMessage =
  | {
      readonly type: 'leave-intent'
      readonly time: number
      readonly node: string
      readonly prune: boolean
    }
  | { readonly type: 'join-intent'; readonly time: number; readonly node: string }
  | SerfPushPull
  | {
      readonly type: 'user-event'
      readonly time: number
      readonly name: string
      readonly payload: Uint8Array
      readonly coalesce: boolean
    }
  | SerfQuery
  | {
      readonly type: 'query-response'
      readonly time: number
      readonly id: number
      readonly from: string
      readonly flags: number
      readonly payload: Uint8Array
    }
  /** To be passed on to its destination as it is. */
  | {
      readonly type: 'relay'
      readonly destination: Endpoint
      readonly node: string
      readonly bytes: Uint8Array
    }

export type SerfPushPull = {
  readonly type: 'serf-push-pull'
  readonly time: number
  readonly statusTimes: ReadonlyMap<string, number>
  readonly leftMembers: readonly string[]
  readonly eventTime: number
  /** Recent events by Lamport time; holes of the ring are left out. */
  readonly events: readonly { readonly time: number; readonly events: readonly UserEvent[] }[]
  readonly queryTime: number
}

export type SerfQuery = {
  readonly type: 'query'
  readonly time: number
  readonly id: number
  /** Where responses go. */
  readonly endpoint: Endpoint
  readonly sourceNode: string
  readonly filters: readonly Uint8Array[]
  readonly wantsAck: boolean
  readonly noBroadcast: boolean
  readonly relayFactor: number
  readonly timeoutNs: number
  readonly name: string
  readonly payload: Uint8Array
}

/** Bytes of `Meta`, the limit of memberlist. */
export const metaBytesMax = 512
