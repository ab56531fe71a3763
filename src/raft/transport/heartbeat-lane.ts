/**
 * A connection of its own to one peer, for heartbeats alone. On a slow link a frame of entries takes seconds, and a leader whose
 * heartbeats stand behind it would be deposed by servers that could hear it. Raft's messages may come in any order, so a heartbeat
 * may pass entries. Nothing is acknowledged here: after one that is lost comes the next.
 *
 * The way back tells that more of such a frame has come. On the frame's own connection that would not be heard: Node's HTTP/2 reads
 * nothing while a write waits.
 */
import type { Timer } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { dial } from '../../wire/dial.ts'
import type { WireStream } from '../../wire/stream.ts'
import type { Wire } from '../../wire/wire.ts'
import type { Message } from '../core/message.ts'
import { decodeFrame, encodeFrame } from './codec.ts'
import type { Peer } from './transport.ts'

export const lanePath = '/muster.raft.Raft/Heartbeats'

/** It is dialled so long after the peer's stream, whose handshake goes first. */
const dialAfterMs = 1_000
/** And again so long after that failed: a server of an older version refuses each time. */
const retryMs = 5_000
/** Heartbeats while entries are on their way: as many as an election needs. Rounds of reads have more, which may wait. */
const spacingMs = 50
/** Those that need not pass anything go here so seldom: a connection that is dead or forgotten on the way shows. */
const warmMs = 1_000

export type LaneEvents = {
  /** The peer says that more of a frame of entries has come. */
  onArriving(): void
  /** It broke: it is pinged often, for nothing that takes long is on it. */
  onLost(): void
}

export class HeartbeatLane {
  readonly #wire: Wire
  readonly #peer: Peer
  readonly #events: LaneEvents
  readonly #ended = new AbortController()
  #stream: WireStream | null = null
  #writable = false
  #isDialling = false
  #timer: Timer | null = null
  #sentMs = Number.NEGATIVE_INFINITY
  #isWanted = false

  constructor(wire: Wire, peer: Peer, events: LaneEvents) {
    this.#wire = wire
    this.#peer = peer
    this.#events = events
  }

  /** The peer is there, or is not: only then this is dialled. */
  want(isWanted: boolean): void {
    this.#isWanted = isWanted
    this.#dialLater(dialAfterMs)
  }

  /** Whether it went here. `isHeldUp`: entries are on their way to the peer. */
  send(message: Message, isHeldUp: boolean): boolean {
    const stream = this.#stream
    if (stream === null || !this.#writable) return false
    const nowMs = this.#wire.clock.monotonicMs()
    if (nowMs - this.#sentMs < (isHeldUp ? spacingMs : warmMs)) return false
    this.#sentMs = nowMs
    this.#writable = stream.write(encodeFrame([message]))
    return true
  }

  close(): void {
    this.#ended.abort()
    this.#timer?.cancel()
    this.#stream?.finish('the connection is not wanted any more')
  }

  #dialLater(delayMs: number): void {
    if (!this.#isWanted || this.#ended.signal.aborted) return
    if (this.#stream !== null || this.#isDialling || this.#timer !== null) return
    this.#timer = this.#wire.clock.setTimer(delayMs, () => {
      this.#timer = null
      if (this.#isWanted) void this.#dial()
    })
  }

  async #dial(): Promise<void> {
    const { address, id } = this.#peer
    const { signal } = this.#ended
    this.#isDialling = true
    try {
      const stream = await dial(this.#wire, { address, path: lanePath, to: id }, signal)
      if (signal.aborted) stream.close('the connection is not wanted any more')
      else this.#start(stream)
    } catch {
      // The stream of entries says why the peer cannot be reached. One of an older version has no such path.
    }
    this.#isDialling = false
    this.#dialLater(retryMs)
  }

  #start(stream: WireStream): void {
    this.#stream = stream
    this.#writable = true
    stream.start({
      onFrame: () => this.#events.onArriving(),
      onDrain: () => {
        this.#writable = true
      },
      onClose: () => {
        this.#stream = null
        if (!this.#ended.signal.aborted) this.#events.onLost()
        this.#dialLater(dialAfterMs)
      },
    })
  }
}

const arriving = Buffer.from([0])

export type InboundLane = {
  /** Tells the sender that more of a frame has come. */
  sayArriving(): void
  close(reason: string): void
}

/** The other end: decodes and hands over. */
export function takeHeartbeats(
  wire: Wire,
  stream: WireStream,
  events: { onMessage(message: Message): void; onClose(): void },
): InboundLane {
  let isWritable = true
  const { id } = stream.peer
  stream.start({
    onFrame: (frame) => {
      try {
        for (const message of decodeFrame(frame, id, wire.identity().serverId)) {
          if (message.type !== 'heartbeat') throw new RangeError(`${message.type} is no heartbeat`)
          events.onMessage(message)
        }
      } catch (error) {
        if (!(error instanceof MusterError) && !(error instanceof RangeError)) throw error
        stream.finish(wire.refusals.addFrame(id, error))
      }
    },
    onDrain: () => {
      isWritable = true
    },
    onClose: () => events.onClose(),
  })
  return {
    sayArriving: () => {
      if (isWritable && stream.open) isWritable = stream.write(arriving)
    },
    close: (reason) => stream.finish(reason),
  }
}
