/**
 * Arriving snapshots. Any number of streams may offer; everything that touches a sink happens one step at a time
 * in one line for all of them, so that an offer never meets a write of the offer before it.
 *
 * Invariant: only the stream of the latest accepted offer writes.
 */
import { AssertionError } from '../../lib/assert.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import type { WireStream } from '../../wire/stream.ts'
import type { Wire } from '../../wire/wire.ts'
import type { SnapshotSink, TransportHandlers } from './transport.ts'
import {
  decodeSnapshotFrame,
  encodeSnapshotReply,
  type SnapshotChunk,
  type SnapshotEnd,
  type SnapshotOffer,
  type SnapshotReply,
  snapshotFrameBytesMax,
  unpackChunk,
} from './snapshot-codec.ts'

/** Frames that one stream may have waiting here; a sender that keeps its window stays far below. */
const waitingFramesMax = 16
/** Replies that a sender has not read; it waits for every few of them. */
const unreadRepliesMax = 64
/** One leader offers; its earlier streams, and those of leaders before it, may not have ended yet. */
const streamsMax = 32

type Handlers = Pick<TransportHandlers, 'onSnapshotOffer' | 'onSnapshotReceived'>

export class SnapshotReceiver {
  readonly #wire: Wire
  readonly #handlers: Handlers
  readonly #streams = new Set<WireStream>()
  #line: Promise<void> = Promise.resolve()
  #current: WireStream | null = null

  constructor(wire: Wire, handlers: Handlers) {
    this.#wire = wire
    this.#handlers = handlers
  }

  accept(stream: WireStream): void {
    if (this.#streams.size >= streamsMax) {
      throw new MusterError(
        'overloaded',
        `${streamsMax} servers offer snapshots, which is the most`,
      )
    }
    const arrival = new Arrival(stream, this.#handlers, {
      isCurrent: () => this.#current === stream,
      becomeCurrent: () => {
        const previous = this.#current
        this.#current = stream
        if (previous !== stream) previous?.finish('a later offer took its place')
      },
    })
    let waiting = 0
    this.#streams.add(stream)
    stream.start({
      onFrame: (frame) => {
        if (frame.length > snapshotFrameBytesMax) {
          stream.close(`a frame takes ${frame.length} bytes, over ${snapshotFrameBytesMax}`)
          return
        }
        waiting += 1
        if (waiting > waitingFramesMax) {
          stream.close(`more than ${waitingFramesMax} frames are waiting`)
          return
        }
        this.#line = this.#line.then(async () => {
          waiting -= 1
          await this.#step(stream, arrival, frame)
        })
      },
      onDrain: () => arrival.onDrain(),
      onClose: () => {
        this.#streams.delete(stream)
        if (this.#current === stream) this.#current = null
      },
    })
  }

  async stop(): Promise<void> {
    for (const stream of this.#streams) stream.finish('this server stops')
    await this.#line
  }

  async #step(stream: WireStream, arrival: Arrival, frame: Buffer): Promise<void> {
    if (!stream.open) return
    try {
      await arrival.onFrame(frame)
    } catch (error) {
      if (error instanceof AssertionError) throw error
      const { id } = stream.peer
      this.#wire.logger.warn('snapshot stream ended', { peer: id, reason: textOf(error) })
      stream.finish(textOf(error))
    }
  }
}

/** One stream's offer, and how far it got. */
class Arrival {
  readonly #stream: WireStream
  readonly #handlers: Handlers
  readonly #turn: { isCurrent(): boolean; becomeCurrent(): void }
  #accepted: { readonly offer: SnapshotOffer; readonly sink: SnapshotSink } | null = null
  #received = 0
  #unread = 0

  constructor(
    stream: WireStream,
    handlers: Handlers,
    turn: { isCurrent(): boolean; becomeCurrent(): void },
  ) {
    this.#stream = stream
    this.#handlers = handlers
    this.#turn = turn
  }

  /** What it throws ends the stream; the sender may come again and go on. */
  async onFrame(bytes: Buffer): Promise<void> {
    const frame = decodeSnapshotFrame(bytes)
    if (frame.type === 'offer') {
      await this.#onOffer(frame)
      return
    }
    if (this.#accepted === null || !this.#turn.isCurrent()) {
      throw new MusterError('conflict', 'chunks may come only after an accepted offer')
    }
    if (frame.type === 'chunk') await this.#onChunk(frame, this.#accepted.sink)
    else await this.#onEnd(frame, this.#accepted.offer, this.#accepted.sink)
  }

  async #onOffer(offer: SnapshotOffer): Promise<void> {
    if (this.#accepted !== null) {
      throw new MusterError('conflict', 'a stream carries one offer')
    }
    const { term, id, meta } = offer
    const from = this.#stream.peer.id
    let sink
    try {
      sink = await this.#handlers.onSnapshotOffer({ from, term, id, meta })
    } catch (error) {
      this.#refuse(error)
      return
    }
    this.#accepted = { offer, sink }
    this.#received = sink.received
    // Also when this stream has broken meanwhile: its offer has voided the sink of the one before.
    this.#turn.becomeCurrent()
    this.#reply({ type: 'accepted', received: this.#received })
  }

  async #onChunk(chunk: SnapshotChunk, sink: SnapshotSink): Promise<void> {
    if (chunk.number !== this.#received) {
      const text = `chunk ${chunk.number} came where ${this.#received} was expected`
      throw new MusterError('corrupt', text)
    }
    await sink.write(await unpackChunk(chunk, this.#stream.peer.version))
    this.#received += 1
    this.#reply({ type: 'progress', received: this.#received })
  }

  async #onEnd(end: SnapshotEnd, offer: SnapshotOffer, sink: SnapshotSink): Promise<void> {
    if (end.count !== this.#received) {
      const text = `the snapshot ended after ${end.count} chunks, ${this.#received} were received`
      throw new MusterError('corrupt', text)
    }
    try {
      await sink.finish(end.sha256)
    } catch (error) {
      this.#refuse(error)
      return
    }
    const { term, meta } = offer
    this.#handlers.onSnapshotReceived({ from: this.#stream.peer.id, term, meta })
    this.#reply({ type: 'done' })
  }

  onDrain(): void {
    this.#unread = 0
  }

  #reply(reply: SnapshotReply): void {
    this.#unread = this.#stream.write(encodeSnapshotReply(reply)) ? 0 : this.#unread + 1
    if (this.#unread > unreadRepliesMax) this.#stream.close('the sender does not read the replies')
  }

  #refuse(error: unknown): void {
    const code = error instanceof MusterError ? error.code : 'internal'
    this.#reply({ type: 'refused', code, message: textOf(error) })
  }
}
