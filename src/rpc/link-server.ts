/**
 * The serving side of links: runs the calls of one stream and sends their outcomes, in the order they end.
 */
import { ChurnMap } from '../lib/churn-map.ts'
import type { Timer } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { frameBytesMax, frameBytesTarget } from '../wire/channel-options.ts'
import type { WireStream } from '../wire/stream.ts'
import type { Wire } from '../wire/wire.ts'
import {
  decodeCalls,
  decodeRequest,
  encodeCalls,
  encodeFailure,
  encodeValue,
  type WireRequest,
  type WireResponse,
} from './link-codec.ts'
import type { CallHandler } from './link.ts'

/** Calls of one stream that run at once; more are `overloaded`. */
const runningMax = 8_192
/** Results that wait for a caller that does not read; beyond it the stream is ended. */
const waitingBytesMax = 64 * 1024 * 1024
const sweepMs = 25

type Running = { readonly abort: AbortController; readonly deadlineMs: number }

export class LinkServerStream {
  readonly #wire: Wire
  readonly #stream: WireStream
  readonly #handler: CallHandler
  readonly #running = new ChurnMap<number, Running>()
  #responses: { readonly response: WireResponse; readonly bytes: number }[] = []
  #responseBytes = 0
  #writable = true
  #flush: NodeJS.Immediate | null = null
  #sweep: Timer | null = null

  constructor(wire: Wire, stream: WireStream, handler: CallHandler, onClose: () => void) {
    this.#wire = wire
    this.#stream = stream
    this.#handler = handler
    stream.start({
      onFrame: (frame) => this.#onFrame(frame),
      onDrain: () => {
        this.#writable = true
        this.#flushResponses()
      },
      onClose: () => {
        this.#onClose()
        onClose()
      },
    })
  }

  close(reason: string): void {
    this.#stream.finish(reason)
  }

  #onFrame(bytes: Buffer): void {
    let frame
    try {
      frame = decodeCalls(bytes)
    } catch (error) {
      const reason = textOf(error)
      this.#wire.logger.warn('bad frame of calls', { peer: this.#stream.peer.id, reason })
      this.#stream.finish(`bad frame: ${reason}`)
      return
    }
    for (const request of frame.requests) void this.#run(request)
    for (const id of frame.cancels) this.#running.get(id)?.abort.abort()
  }

  /** Never rejects: whatever the handler throws is an answer. */
  async #run(wire: WireRequest): Promise<void> {
    const { id } = wire
    const abort = new AbortController()
    const deadlineMs = this.#wire.clock.monotonicMs() + wire.timeoutMs
    try {
      if (this.#running.size >= runningMax) {
        throw new MusterError('overloaded', `more than ${runningMax} calls of one server run here`)
      }
      if (this.#running.has(id)) throw new MusterError('conflict', `call ${id} runs already`)
      this.#running.set(id, { abort, deadlineMs })
    } catch (error) {
      this.#fail(wire, error)
      return
    }
    this.#scheduleSweep()
    try {
      const result = await this.#handler(decodeRequest(wire), abort.signal)
      this.#answer(wire, { id, result: encodeValue(result) })
    } catch (error) {
      this.#fail(wire, error)
    } finally {
      this.#running.take(id)
    }
  }

  #answer(wire: WireRequest, response: WireResponse): void {
    const bytes = (response.result?.length ?? response.error?.details.length ?? 0) + 64
    if (bytes > frameBytesMax / 2) {
      const text = `the result of ${wire.method} takes ${bytes} bytes, at most ${frameBytesMax / 2} can be sent`
      this.#fail(wire, new MusterError('too_large', text))
      return
    }
    if (!this.#stream.open) return
    this.#responses.push({ response, bytes })
    this.#responseBytes += bytes
    if (this.#responseBytes > waitingBytesMax) {
      this.#stream.close(`the caller does not read: over ${waitingBytesMax} bytes of results wait`)
      return
    }
    this.#flush ??= setImmediate(() => {
      this.#flush = null
      this.#flushResponses()
    })
  }

  #fail(wire: WireRequest, error: unknown): void {
    if (error instanceof MusterError) {
      this.#answer(wire, encodeFailure(wire.id, error))
      return
    }
    // Not meant for callers: it may name files or values.
    this.#wire.logger.error('a call failed unexpectedly', {
      method: wire.method,
      requestId: wire.requestId,
      reason: textOf(error),
    })
    const text = `${wire.method} failed unexpectedly; the log of the server that ran it says why`
    this.#answer(wire, encodeFailure(wire.id, new MusterError('internal', text)))
  }

  #flushResponses(): void {
    while (this.#writable && this.#responses.length > 0) {
      const batch: WireResponse[] = []
      let bytes = 0
      for (const next of this.#responses) {
        if (batch.length > 0 && bytes + next.bytes > frameBytesTarget) break
        batch.push(next.response)
        bytes += next.bytes
      }
      this.#responses.splice(0, batch.length)
      this.#responseBytes -= bytes
      this.#writable = this.#stream.write(encodeCalls({ responses: batch }))
    }
  }

  #scheduleSweep(): void {
    this.#sweep ??= this.#wire.clock.setTimer(sweepMs, () => {
      this.#sweep = null
      const now = this.#wire.clock.monotonicMs()
      for (const [, { abort, deadlineMs }] of this.#running.entries()) {
        if (now >= deadlineMs) abort.abort()
      }
      if (this.#running.size > 0) this.#scheduleSweep()
    })
  }

  #onClose(): void {
    for (const [, { abort }] of this.#running.entries()) abort.abort()
    this.#responses = []
    this.#responseBytes = 0
    this.#sweep?.cancel()
    if (this.#flush !== null) clearImmediate(this.#flush)
  }
}
