/**
 * Streams one snapshot to one peer over a connection of its own. When the connection breaks it dials again and goes
 * on where the receiver stopped.
 *
 * Invariant: `hashed` chunks, each exactly once and in order, are in the running hash, so the digest is right however
 * often the sender had to go back or to skip what the receiver already held.
 */
import { createHash } from 'node:crypto'
import { delay, onAbort } from '../../lib/async.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import { dial, DialError } from '../../wire/dial.ts'
import type { WireStream } from '../../wire/stream.ts'
import type { Wire } from '../../wire/wire.ts'
import type { ServerId, Term } from '../core/message.ts'
import { decodeSnapshotReply, encodeSnapshotFrame, packChunk } from './snapshot-codec.ts'
import type { SnapshotReply } from './snapshot-codec.ts'
import type { SnapshotSource } from './transport.ts'

export const snapshotPath = '/muster.raft.Raft/Snapshot'

/** Chunks on their way that the receiver has not written yet. */
export const windowChunks = 4
const retryMs = 100

export type SnapshotSending = {
  readonly to: ServerId
  /** Asked at every dial; undefined: the peer is not one any more. */
  readonly address: () => string | undefined
  readonly term: Term
  readonly source: SnapshotSource
  readonly signal: AbortSignal
  /** Without a chunk taken or an offer answered for this long, the sender gives up. */
  readonly progressTimeoutMs: number
  /** What the receiver may take to make it durable after the last chunk. */
  readonly finishTimeoutMs: number
}

/** This connection failed; another one may do. */
class Interrupted extends Error {}

export class SnapshotSender {
  readonly #wire: Wire
  readonly #sending: SnapshotSending
  readonly #hash = createHash('sha256')
  #hashed = 0
  #progressMs: number
  #received = 0
  /** An offer was answered once. Further answers are no progress, else a transfer that always breaks never ends. */
  #reached = false

  constructor(wire: Wire, sending: SnapshotSending) {
    this.#wire = wire
    this.#sending = sending
    this.#progressMs = wire.clock.monotonicMs()
  }

  /** Resolves once the receiver has staged it whole. Rejects with the receiver's refusal, `cancelled` or `timeout`. */
  async run(): Promise<void> {
    const { to, signal } = this.#sending
    let reason = 'it was not reached'
    for (;;) {
      if (signal.aborted) {
        throw new MusterError('cancelled', `the snapshot for server ${to} is not wanted any more`)
      }
      const silentMs = this.#wire.clock.monotonicMs() - this.#progressMs
      if (silentMs > this.#sending.progressTimeoutMs) {
        const text = `the snapshot for server ${to} made no progress for ${Math.round(silentMs)} ms: ${reason}`
        throw new MusterError('timeout', text)
      }
      try {
        await this.#attempt()
        return
      } catch (error) {
        if (!(error instanceof Interrupted)) throw error
        reason = error.message
      }
      this.#wire.logger.debug('snapshot interrupted', { peer: to, reason })
      await this.#pause()
    }
  }

  async #attempt(): Promise<void> {
    const { to, signal } = this.#sending
    const address = this.#sending.address()
    if (address === undefined) {
      throw new MusterError('unavailable', `server ${to} is not a peer of this server`)
    }
    let stream
    try {
      stream = await dial(this.#wire, { address, path: snapshotPath, to }, signal)
    } catch (error) {
      if (error instanceof DialError) throw new Interrupted(error.message)
      throw error
    }
    const replies = new Replies(this.#wire, stream, signal)
    try {
      await this.#transfer(stream, replies)
    } finally {
      stream.finish('the snapshot stream is done')
    }
  }

  async #transfer(stream: WireStream, replies: Replies): Promise<void> {
    const { source, term } = this.#sending
    const { id, meta } = source
    stream.write(encodeSnapshotFrame({ type: 'offer', term, id, meta }))
    const answer = await this.#next(replies, this.#sending.progressTimeoutMs)
    if (answer.type !== 'accepted') throw new Interrupted(`the offer was answered ${answer.type}`)
    const resumeAt = answer.received
    this.#received = resumeAt
    if (!this.#reached) this.#noteProgress()
    this.#reached = true

    let count = Math.min(this.#hashed, resumeAt)
    for await (const data of source.chunks(count)) {
      if (count === this.#hashed) {
        this.#hash.update(data)
        this.#hashed += 1
      }
      if (!stream.open) throw new Interrupted('the connection broke')
      if (count >= resumeAt) {
        while (count - this.#received >= windowChunks || replies.waiting > 0) {
          await this.#next(replies, this.#sending.progressTimeoutMs)
        }
        const chunk = await packChunk(count, data, stream.peer.version)
        stream.write(encodeSnapshotFrame(chunk))
      }
      count += 1
    }
    const sha256 = this.#hash.copy().digest('hex')
    stream.write(encodeSnapshotFrame({ type: 'end', sha256, count }))
    const { progressTimeoutMs, finishTimeoutMs } = this.#sending
    for (;;) {
      const written = this.#received >= count
      const reply = await this.#next(replies, written ? finishTimeoutMs : progressTimeoutMs)
      if (reply.type === 'done') return
    }
  }

  /** The next reply, with progress noted. A refusal is thrown. */
  async #next(replies: Replies, timeoutMs: number): Promise<SnapshotReply> {
    const reply = await replies.next(timeoutMs)
    if (reply.type === 'refused') {
      const text = `server ${this.#sending.to} refused the snapshot: ${reply.message}`
      throw new MusterError(reply.code, text)
    }
    if (reply.type === 'progress' && reply.received > this.#received) {
      this.#received = reply.received
      this.#noteProgress()
    }
    return reply
  }

  #noteProgress(): void {
    this.#progressMs = this.#wire.clock.monotonicMs()
  }

  #pause(): Promise<void> {
    const { clock, random } = this.#wire
    return delay(clock, retryMs * (0.5 + random.next()), this.#sending.signal)
  }
}

/** The receiver's replies as something to wait for, one at a time. */
class Replies {
  readonly #wire: Wire
  readonly #stream: WireStream
  #replies: SnapshotReply[] = []
  #closed: string | null = null
  #wake: (() => void) | null = null

  constructor(wire: Wire, stream: WireStream, signal: AbortSignal) {
    this.#wire = wire
    this.#stream = stream
    const stopListening = onAbort(signal, () => stream.close('the snapshot is not wanted any more'))
    stream.start({
      onFrame: (frame) => {
        try {
          this.#replies.push(decodeSnapshotReply(frame))
        } catch (error) {
          stream.close(`bad reply: ${textOf(error)}`)
        }
        this.#wake?.()
      },
      onDrain: () => {},
      onClose: (reason) => {
        this.#closed = reason
        stopListening()
        this.#wake?.()
      },
    })
  }

  get waiting(): number {
    return this.#replies.length
  }

  async next(timeoutMs: number): Promise<SnapshotReply> {
    if (this.#replies.length === 0 && this.#closed === null) await this.#wait(timeoutMs)
    const reply = this.#replies.shift()
    if (reply !== undefined) return reply
    throw new Interrupted(this.#closed ?? 'the connection ended')
  }

  #wait(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#wire.clock.setTimer(timeoutMs, () =>
        this.#stream.close(`no reply for ${timeoutMs} ms`),
      )
      this.#wake = () => {
        this.#wake = null
        timer.cancel()
        resolve()
      }
    })
  }
}
