/**
 * One member alone with the test: it sees what the member sends, and plays all the others.
 */
import { GossipCore, type CoreOptions } from '../../../src/gossip/core/core.ts'
import type {
  Alive,
  Endpoint,
  MemberState,
  PacketMessage,
  PushPull,
  PushPullNode,
  SerfMessage,
  SerfPushPull,
} from '../../../src/gossip/core/message.ts'
import { lanProfile } from '../../../src/gossip/core/profile.ts'
import type { Exchange, GossipEvent, Packet, StreamPing } from '../../../src/gossip/core/ready.ts'
import { ownVersions } from '../../../src/gossip/core/versions.ts'
import { seededRandom } from '../../../src/lib/random.ts'
import { simCodec } from '../sim/codec.ts'
import { endpointOf } from '../sim/world.ts'

export class Lab {
  readonly core: GossipCore
  now = 0
  packets: Packet[] = []
  exchanges: Exchange[] = []
  streamPings: StreamPing[] = []
  events: GossipEvent[] = []

  constructor(options: Partial<CoreOptions> = {}) {
    this.core = new GossipCore(
      {
        name: 'me',
        endpoint: addressOf('me'),
        tags: new Map(),
        profile: lanProfile,
        random: seededRandom(7),
        codec: simCodec,
        ...options,
      },
      0,
    )
    this.collect()
  }

  /** With these members known, and no news left to tell. */
  static with(names: readonly string[], options: Partial<CoreOptions> = {}): Lab {
    const lab = new Lab(options)
    for (const name of names) lab.hear(alive(name))
    lab.forget()
    return lab
  }

  hear(message: PacketMessage, from: Endpoint = endpointOf(900)): void {
    this.core.message(message, from, this.now)
    this.collect()
  }

  hearSerf(message: SerfMessage): void {
    this.hear({ type: 'user', bytes: simCodec.encode(message) })
  }

  /** Time passes; the member is woken whenever it wants to be. Those in `answering` answer pings for them at once. */
  pass(ms: number, answering: readonly string[] = []): void {
    const end = this.now + ms
    while (this.core.nextDeadline <= end) {
      this.now = Math.max(this.now, this.core.nextDeadline)
      const seen = this.packets.length
      this.core.tick(this.now)
      this.collect()
      for (const { to, messages } of this.packets.slice(seen)) {
        for (const message of messages) {
          if (message.type !== 'ping' || !answering.includes(message.node)) continue
          this.hear({ type: 'ack', sequence: message.sequence, payload: null }, to)
        }
      }
    }
    this.now = end
  }

  command<T>(run: (core: GossipCore, now: number) => T): T {
    const result = run(this.core, this.now)
    this.collect()
    return result
  }

  collect(): void {
    const { packets, exchanges, streamPings, events } = this.core.ready()
    this.packets.push(...packets)
    this.exchanges.push(...exchanges)
    this.streamPings.push(...streamPings)
    this.events.push(...events)
  }

  /** What was sent and told so far is not looked at any more. */
  forget(): void {
    this.packets = []
    this.exchanges = []
    this.streamPings = []
    this.events = []
  }

  /** All messages of a kind that were sent, to anybody or to one. */
  sent<T extends PacketMessage['type']>(
    type: T,
    to?: string,
  ): Extract<PacketMessage, { readonly type: T }>[] {
    return this.packets
      .filter((packet) => to === undefined || packet.to.port === addressOf(to).port)
      .flatMap((packet) => packet.messages)
      .filter((message): message is Extract<PacketMessage, { readonly type: T }> => {
        return message.type === type
      })
  }

  sentSerf<T extends SerfMessage['type']>(type: T): Extract<SerfMessage, { readonly type: T }>[] {
    return this.sent('user')
      .map(({ bytes }) => simCodec.decode(bytes))
      .filter((message): message is Extract<SerfMessage, { readonly type: T }> => {
        return message?.type === type
      })
  }

  happened<T extends GossipEvent['type']>(type: T): Extract<GossipEvent, { readonly type: T }>[] {
    return this.events.filter((event): event is Extract<GossipEvent, { readonly type: T }> => {
      return event.type === type
    })
  }

  status(name: string): string {
    return this.core.member(name)?.status ?? 'unknown'
  }

  state(name: string): string {
    return this.core.member(name)?.state ?? 'unknown'
  }

  incarnation(name: string): number {
    return this.core.member(name)?.incarnation ?? -1
  }

  /** Goes on until the member pings that one; the others answer. */
  untilPinged(name: string): number {
    const others = this.core.members().flatMap((other) => (other.name === name ? [] : [other.name]))
    for (let steps = 0; steps < 10_000; steps += 1) {
      const ping = this.sent('ping', name).find(({ node }) => node === name)
      if (ping !== undefined) return ping.sequence
      this.pass(1, others)
    }
    throw new Error(`${name} was never pinged`)
  }
}

export function addressOf(name: string): Endpoint {
  let number = name === 'me' ? 1 : 2
  for (const letter of name) number = (number * 31 + letter.charCodeAt(0)) % 50_000
  return endpointOf(number)
}

export function alive(node: string, more: Partial<Alive> = {}): Alive {
  return {
    type: 'alive',
    node,
    incarnation: 1,
    endpoint: addressOf(node),
    meta: new Uint8Array(),
    versions: ownVersions,
    ...more,
  }
}

export function suspect(node: string, from: string, incarnation = 1): PacketMessage {
  return { type: 'suspect', node, from, incarnation }
}

export function dead(node: string, from: string, incarnation = 1): PacketMessage {
  return { type: 'dead', node, from, incarnation }
}

export function entry(
  name: string,
  state: MemberState,
  more: Partial<PushPullNode> = {},
): PushPullNode {
  const { endpoint, meta, versions, incarnation } = alive(name)
  return { name, endpoint, meta, versions, incarnation, state, ...more }
}

export function stateOf(
  nodes: readonly PushPullNode[],
  serf: Partial<SerfPushPull> | null = null,
): PushPull {
  const userState: Uint8Array =
    serf === null
      ? new Uint8Array()
      : simCodec.encode({
          type: 'serf-push-pull',
          time: 1,
          statusTimes: new Map(),
          leftMembers: [],
          eventTime: 1,
          events: [],
          queryTime: 1,
          ...serf,
        })
  return { type: 'push-pull', nodes, userState, join: false }
}

/** Exchanges states with somebody who began it. */
export function exchange(lab: Lab, state: PushPull): PushPull {
  return lab.command((core, now) => core.exchangeReceived(state, endpointOf(900), now)).reply
}
