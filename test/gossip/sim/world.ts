/**
 * A pool in simulated time: the production core of every member, and a network that loses, delays, doubles and cuts.
 * The seed decides everything; the same seed gives the same run.
 */
import { GossipCore } from '../../../src/gossip/core/core.ts'
import { sameEndpoint } from '../../../src/gossip/core/members.ts'
import type { Endpoint, PushPull } from '../../../src/gossip/core/message.ts'
import { lanProfile, type Profile } from '../../../src/gossip/core/profile.ts'
import type { Exchange, GossipEvent, Packet, StreamPing } from '../../../src/gossip/core/ready.ts'
import { seededRandom, type Random } from '../../../src/lib/random.ts'
import { Agenda } from './agenda.ts'
import { simCodec } from './codec.ts'

export type Weather = {
  readonly lossRate: number
  readonly duplicateRate: number
  readonly delayMinMs: number
  readonly delayMaxMs: number
}

export const calm: Weather = { lossRate: 0, duplicateRate: 0, delayMinMs: 1, delayMaxMs: 5 }
export const lossy: Weather = { lossRate: 0.1, duplicateRate: 0.01, delayMinMs: 1, delayMaxMs: 20 }

/** Packets that wait for a process that is not run, as in the kernel's buffer; more get lost. */
const buffered = 500

export type Node = {
  readonly name: string
  readonly endpoint: Endpoint
  core: GossipCore
  up: boolean
  paused: boolean
  /** The side of a cut it is on. */
  side: number
  /** Packets to and from it are lost, streams go through. */
  packetsBlocked: boolean
  waiting: { readonly packet: Packet; readonly from: Endpoint }[]
  wakeAt: number
}

export type Logged = { readonly at: number; readonly on: string; readonly event: GossipEvent }

export class World {
  readonly agenda = new Agenda()
  readonly random: Random
  readonly profile: Profile
  readonly nodes: Node[] = []
  readonly #byPort = new Map<number, Node>()
  weather: Weather
  packets = 0
  messages = 0
  bytes = 0
  onEvent: (logged: Logged) => void = () => undefined

  constructor(seed: number, weather: Weather, profile: Profile = lanProfile) {
    this.random = seededRandom(seed)
    this.weather = weather
    this.profile = profile
  }

  get now(): number {
    return this.agenda.now
  }

  addNode(name: string, endpoint: Endpoint = endpointOf(this.nodes.length + 1)): Node {
    const node: Node = {
      name,
      endpoint,
      core: this.#newCore(name, endpoint),
      up: true,
      paused: false,
      side: 0,
      packetsBlocked: false,
      waiting: [],
      wakeAt: Infinity,
    }
    this.nodes.push(node)
    this.#byPort.set(endpoint.port, node)
    this.#settle(node)
    return node
  }

  /** Gives a member an input and performs what it asks for. */
  act<T>(node: Node, input: (core: GossipCore, now: number) => T): T {
    const result = input(node.core, this.now)
    this.#settle(node)
    return result
  }

  kill(node: Node): void {
    node.up = false
    node.waiting = []
  }

  /** A new life of a killed member: it knows nothing, and counts from the start. */
  restart(node: Node): void {
    node.core = this.#newCore(node.name, node.endpoint)
    node.up = true
    node.wakeAt = Infinity
    this.#settle(node)
  }

  pause(node: Node): void {
    node.paused = true
  }

  resume(node: Node): void {
    node.paused = false
    const { waiting } = node
    node.waiting = []
    // A process that goes on may look at its timers before its sockets, or the other way round.
    const timersFirst = this.random.next() < 0.5
    if (timersFirst) this.#wake(node)
    for (const { packet, from } of waiting) this.#deliver(node, packet, from)
    if (!timersFirst) this.#wake(node)
  }

  run(ms: number): void {
    this.agenda.runUntil(this.now + ms)
  }

  /** Runs until the condition holds, looked at every `stepMs`; false: not within `limitMs`. */
  runUntil(condition: () => boolean, limitMs: number, stepMs = 100): boolean {
    const end = this.now + limitMs
    while (!condition()) {
      if (this.now >= end) return false
      this.run(stepMs)
    }
    return true
  }

  #newCore(name: string, endpoint: Endpoint): GossipCore {
    const random = seededRandom(Math.floor(this.random.next() * 2 ** 32))
    return new GossipCore(
      { name, endpoint, tags: new Map(), profile: this.profile, random, codec: simCodec },
      this.now,
    )
  }

  /** Performs what the core asks for, and sees that it is woken in time. */
  #settle(node: Node): void {
    while (node.core.hasReady()) {
      const { packets, exchanges, streamPings, events } = node.core.ready()
      for (const event of events) this.onEvent({ at: this.now, on: node.name, event })
      for (const packet of packets) this.#sendPacket(node, packet)
      for (const exchange of exchanges) this.#exchange(node, exchange)
      for (const ping of streamPings) this.#streamPing(node, ping)
    }
    const deadline = node.core.nextDeadline
    if (deadline >= node.wakeAt) return
    node.wakeAt = deadline
    this.agenda.at(deadline, () => {
      if (node.wakeAt === deadline) this.#wake(node)
    })
  }

  #wake(node: Node): void {
    node.wakeAt = Infinity
    if (!node.up || node.paused) return
    if (this.now >= node.core.nextDeadline) node.core.tick(this.now)
    this.#settle(node)
  }

  #sendPacket(from: Node, packet: Packet): void {
    const { lossRate, duplicateRate } = this.weather
    this.packets += 1
    this.messages += packet.messages.length
    let bytes = 2
    for (const message of packet.messages) bytes += simCodec.sizeOf(message) + 2
    this.bytes += bytes
    if (bytes > this.profile.packetBytesMax) throw new Error(`a packet of ${bytes} bytes`)
    const copies = this.random.next() < duplicateRate ? 2 : 1
    for (let copy = 0; copy < copies; copy += 1) {
      if (this.random.next() < lossRate) continue
      const { endpoint } = from
      this.agenda.at(this.now + this.#delay(), () => {
        const to = this.#byPort.get(packet.to.port)
        if (to === undefined || !to.up || !sameEndpoint(to.endpoint, packet.to)) return
        if (to.side !== from.side || to.packetsBlocked || from.packetsBlocked) return
        if (to.paused) {
          if (to.waiting.length < buffered) to.waiting.push({ packet, from: endpoint })
        } else this.#deliver(to, packet, endpoint)
      })
    }
  }

  #deliver(to: Node, packet: Packet, from: Endpoint): void {
    for (const message of packet.messages) to.core.message(message, from, this.now)
    this.#settle(to)
  }

  #exchange(from: Node, exchange: Exchange): void {
    const { core } = from
    const answer = (outcome: PushPull | string, afterMs: number): void => {
      this.agenda.at(this.now + afterMs, () => {
        if (!from.up || from.core !== core) return
        core.exchanged(exchange.id, outcome, this.now)
        this.#settle(from)
      })
    }
    this.agenda.at(this.now + 2 * this.#delay(), () => {
      const to = this.#byPort.get(exchange.to.port)
      if (to === undefined || to.side !== from.side || to.paused) {
        answer('timed out', exchange.timeoutMs)
      } else if (!to.up) {
        answer('connection refused', this.#delay())
      } else {
        const { reply } = to.core.exchangeReceived(exchange.message, from.endpoint, this.now)
        this.#settle(to)
        answer(reply, this.#delay())
      }
    })
  }

  #streamPing(from: Node, ping: StreamPing): void {
    const { core } = from
    const delay = 3 * this.#delay()
    this.agenda.at(this.now + delay, () => {
      const to = this.#byPort.get(ping.to.port)
      const open = to !== undefined && to.side === from.side && !to.paused
      if (!from.up || from.core !== core || !open) return
      core.streamAnswered(ping.id, { type: to.up ? 'answered' : 'refused' }, this.now)
      this.#settle(from)
    })
  }

  #delay(): number {
    const { delayMinMs, delayMaxMs } = this.weather
    return delayMinMs + this.random.next() * (delayMaxMs - delayMinMs)
  }
}

export function endpointOf(number: number): Endpoint {
  return { address: Uint8Array.of(10, 0, number >> 8, number & 255), port: 10_000 + number }
}

/** Everybody joins through one of the first few, a little apart. */
export function buildPool(world: World, size: number, spreadMs: number): void {
  for (let index = 0; index < size; index += 1) world.addNode(`m${index}`)
  for (const [index, node] of world.nodes.entries()) {
    if (index === 0) continue
    const seed = world.nodes[Math.floor(world.random.next() * Math.min(index, 5))]
    if (seed === undefined) continue
    world.agenda.at(world.now + (index * spreadMs) / size, () => {
      world.act(node, (core, now) => core.join(seed.endpoint, false, now))
    })
  }
}

/** Everybody that is up sees exactly those that are up as alive. */
export function converged(world: World): boolean {
  const up = world.nodes.filter((node) => node.up)
  return up.every((node) => {
    const alive = node.core.members().filter((member) => member.status === 'alive')
    return alive.length === up.length && up.every(({ name }) => isAlive(node, name))
  })
}

export function isAlive(on: Node, name: string): boolean {
  return on.core.member(name)?.status === 'alive'
}
