/**
 * A peer's messages to this server: one stream that the peer dialled. Decodes, hands over, acknowledges.
 */
import type { Timer } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import type { WireStream } from '../../wire/stream.ts'
import type { Wire } from '../../wire/wire.ts'
import type { Message } from '../core/message.ts'
import { decodeFrame, encodeAck } from './codec.ts'

/** Frames are acknowledged after this many bytes, or this long after the first of them. */
const ackBytes = 256 * 1024
const ackDelayMs = 500

export type InboundEvents = {
  onMessage(message: Message): void
  /** More of a frame has come, and not yet all of it. */
  onArriving(): void
  onClose(): void
}

export class Inbound {
  readonly #wire: Wire
  readonly #stream: WireStream
  #received = 0
  #unacknowledgedBytes = 0
  #ackTimer: Timer | null = null
  #writable = true

  constructor(wire: Wire, stream: WireStream, events: InboundEvents) {
    this.#wire = wire
    this.#stream = stream
    stream.start({
      onFrame: (frame) => this.#onFrame(frame, events),
      onDrain: () => {
        this.#writable = true
      },
      onArriving: () => events.onArriving(),
      onClose: () => {
        this.#ackTimer?.cancel()
        events.onClose()
      },
    })
  }

  /** The way back to a caller that this server has no stream of its own to. Dropped when that way is full. */
  reply(message: Message): void {
    if (this.#writable) this.#acknowledge([message])
  }

  close(reason: string): void {
    this.#stream.finish(reason)
  }

  #onFrame(frame: Buffer, events: InboundEvents): void {
    const { id } = this.#stream.peer
    let messages
    try {
      messages = decodeFrame(frame, id, this.#wire.identity().serverId)
    } catch (error) {
      this.#refuse(error)
      return
    }
    this.#received += 1
    this.#unacknowledgedBytes += frame.length
    if (this.#unacknowledgedBytes >= ackBytes) this.#acknowledge([])
    else this.#ackTimer ??= this.#wire.clock.setTimer(ackDelayMs, () => this.#acknowledge([]))
    try {
      for (const message of messages) events.onMessage(message)
    } catch (error) {
      if (!(error instanceof MusterError)) throw error
      this.#refuse(error)
    }
  }

  #refuse(error: unknown): void {
    this.#stream.finish(this.#wire.refusals.addFrame(this.#stream.peer.id, error))
  }

  #acknowledge(messages: readonly Message[]): void {
    this.#ackTimer?.cancel()
    this.#ackTimer = null
    this.#unacknowledgedBytes = 0
    this.#writable = this.#stream.write(encodeAck(this.#received, messages))
  }
}
