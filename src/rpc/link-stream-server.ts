/**
 * The serving side of streamed calls: runs the method and sends its items as fast as the reader takes them.
 * A reader that stands still stops only its own source, which is not asked for more.
 */
import type { Timer } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { frameBytesMax } from '../wire/channel-options.ts'
import type { WireService } from '../wire/server.ts'
import type { FrameStream, WireStream } from '../wire/stream.ts'
import type { Wire } from '../wire/wire.ts'
import { decodeRequest, encodeFailure, encodeValue, type WireRequest } from './link-codec.ts'
import type { LinkHost } from './link-server.ts'
import {
  decodeStreamFrame,
  encodeStreamFrame,
  itemCost,
  streamPath,
  type StreamFrame,
} from './link-stream-codec.ts'
import type { StreamHandler } from './link.ts'

/** Streams of other servers that are open here at once; more are `overloaded`. Each has a connection. */
const streamsMax = 256
/** A connection that does not ask by then is closed. */
const openMs = 10_000
/** Of a frame that asks, or gives credit. */
const askedBytesMax = 1024 * 1024

export class StreamService implements WireService {
  readonly path = streamPath
  readonly #wire: Wire
  readonly #handler: StreamHandler
  readonly #streams = new Set<ServedStream>()

  constructor(options: { readonly wire: Wire; readonly handler: StreamHandler }) {
    this.#wire = options.wire
    this.#handler = options.handler
  }

  accept(connection: WireStream): void {
    if (this.#streams.size >= streamsMax) {
      throw new MusterError('overloaded', `${streamsMax} streams are open here, which is the most`)
    }
    const served = new ServedStream(this.#wire, connection, this.#handler)
    this.#streams.add(served)
    served.start(() => this.#streams.delete(served))
  }

  /** Ends every stream; the signals of their sources fire. */
  stop(): Promise<void> {
    for (const stream of this.#streams) stream.close('this server stops')
    return Promise.resolve()
  }
}

/** One stream that is served here. */
export class ServedStream {
  readonly #wire: LinkHost
  readonly #connection: FrameStream
  readonly #handler: StreamHandler
  readonly #abort = new AbortController()
  #asked = false
  #credit = 0
  #writable = true
  #wake: (() => void) | null = null
  #openTimer: Timer | null = null

  constructor(wire: LinkHost, connection: FrameStream, handler: StreamHandler) {
    this.#wire = wire
    this.#connection = connection
    this.#handler = handler
  }

  start(onClose: () => void): void {
    this.#openTimer = this.#wire.clock.setTimer(openMs, () => this.close('nothing was asked'))
    this.#connection.start({
      onFrame: (frame) => this.#onFrame(frame),
      onDrain: () => {
        this.#writable = true
        this.#wake?.()
      },
      onClose: () => {
        this.#openTimer?.cancel()
        this.#abort.abort()
        this.#wake?.()
        onClose()
      },
    })
  }

  close(reason: string): void {
    this.#connection.finish(reason)
  }

  #onFrame(bytes: Buffer): void {
    let frame: StreamFrame
    try {
      if (bytes.length > askedBytesMax) {
        throw new MusterError(
          'corrupt',
          `a frame takes ${bytes.length} bytes, over ${askedBytesMax}`,
        )
      }
      frame = decodeStreamFrame(bytes)
      if (this.#asked !== (frame.open === null)) {
        throw new MusterError('corrupt', 'a stream asks exactly once, in its first frame')
      }
    } catch (error) {
      this.#connection.finish(this.#wire.refusals.addFrame(this.#connection.peer.id, error))
      return
    }
    this.#credit += frame.credit
    if (frame.open !== null) {
      this.#asked = true
      this.#openTimer?.cancel()
      void this.#run(frame.open)
    } else {
      this.#wake?.()
    }
  }

  /** Never rejects: whatever the source throws is told to the reader. */
  async #run(wire: WireRequest): Promise<void> {
    try {
      const items = await this.#handler(decodeRequest(wire), this.#abort.signal)
      this.#write({ accepted: true })
      for await (const item of items) {
        await this.#send(wire, item)
        if (!this.#connection.open) break
      }
      this.#write({ ended: true })
    } catch (error) {
      this.#write({ ended: true, error: encodeFailure(0, this.#told(wire, error)).error ?? null })
    }
    this.#connection.finish('the stream is over')
  }

  async #send(wire: WireRequest, item: unknown): Promise<void> {
    const bytes = encodeValue(item)
    if (bytes.length > frameBytesMax / 2) {
      const text = `an item of ${wire.method} takes ${bytes.length} bytes, at most ${frameBytesMax / 2} can be sent`
      throw new MusterError('too_large', text)
    }
    while (this.#connection.open && (this.#credit <= 0 || !this.#writable)) {
      await new Promise<void>((wake) => (this.#wake = wake))
    }
    this.#credit -= itemCost(bytes)
    this.#write({ items: [bytes] })
  }

  #write(frame: Partial<StreamFrame>): void {
    if (this.#connection.open) this.#writable = this.#connection.write(encodeStreamFrame(frame))
  }

  #told(wire: WireRequest, error: unknown): MusterError {
    if (error instanceof MusterError) return error
    const { method, requestId } = wire
    const reason = textOf(error)
    this.#wire.logger.error('a stream failed unexpectedly', { method, requestId, reason })
    const text = `${method} failed unexpectedly; the log of the server that ran it says why`
    return new MusterError('internal', text)
  }
}
