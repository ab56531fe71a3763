/**
 * The serving side of links: runs the calls of one stream and sends their outcomes, in the order they end.
 */
import { ChurnMap } from '../lib/churn-map.ts'
import { EarliestTimer } from '../lib/earliest-timer.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { frameBytesMax, frameBytesTarget } from '../wire/channel-options.ts'
import type { FrameStream } from '../wire/stream.ts'
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
import type { LinkLoad } from './link-load.ts'
import type { CallHandler, CallRequest } from './link.ts'

/** Of a link between servers. */
const runningMaxDefault = 8_192
/** Results that wait for a caller that does not read; beyond it the stream is ended. */
const waitingBytesMax = 64 * 1024 * 1024

/** What a call counts for besides its arguments. */
const callOverheadBytes = 1024

/** What is needed of a request until its answer. */
type Call = Pick<WireRequest, 'id' | 'method' | 'requestId'> & { readonly argumentBytes: number }

type Running = { readonly abort: AbortController; readonly deadlineMs: number }

export type LinkServerOptions = {
  readonly handler: CallHandler
  /** Shared by all links. */
  readonly load: LinkLoad
  readonly onClose: () => void
  /** Calls that run at once; more are `overloaded`. Default: as many as a server may ask. */
  readonly runningMax?: number
  /** Bytes of one result. Default: half a frame. */
  readonly resultBytesMax?: number
}

/** What the serving side needs of its process. */
export type LinkHost = Pick<Wire, 'clock' | 'refusals' | 'logger'>

export class LinkServerStream {
  readonly #wire: LinkHost
  readonly #stream: FrameStream
  readonly #handler: CallHandler
  readonly #load: LinkLoad
  readonly #runningMax: number
  readonly #resultBytesMax: number
  readonly #running = new ChurnMap<number, Running>()
  #responses: { readonly response: WireResponse; readonly bytes: number }[] = []
  #responseBytes = 0
  #writable = true
  #flush: NodeJS.Immediate | null = null
  readonly #deadlines: EarliestTimer

  constructor(wire: LinkHost, stream: FrameStream, options: LinkServerOptions) {
    const { handler, load, onClose } = options
    this.#wire = wire
    this.#stream = stream
    this.#handler = handler
    this.#load = load
    this.#runningMax = options.runningMax ?? runningMaxDefault
    this.#resultBytesMax = options.resultBytesMax ?? frameBytesMax / 2
    this.#deadlines = new EarliestTimer(wire.clock, (nowMs) => this.#endLate(nowMs))
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
      if (frame.requests.length > this.#runningMax) {
        const text = `a frame has ${frame.requests.length} calls, over ${this.#runningMax}`
        throw new MusterError('corrupt', text)
      }
    } catch (error) {
      this.#stream.finish(this.#wire.refusals.addFrame(this.#stream.peer.id, error))
      return
    }
    for (const request of frame.requests) this.#begin(request)
    for (const id of frame.cancels) this.#running.get(id)?.abort.abort()
  }

  /** Not asynchronous: that would hold on to the request's frame until the call ends. */
  #begin(wire: WireRequest): void {
    const { id, method, requestId, timeoutMs } = wire
    const call: Call = {
      id,
      method,
      requestId,
      argumentBytes: wire.args.length + callOverheadBytes,
    }
    const abort = new AbortController()
    const deadlineMs = this.#wire.clock.monotonicMs() + timeoutMs
    let request
    try {
      if (this.#running.size >= this.#runningMax) {
        throw new MusterError(
          'overloaded',
          `more than ${this.#runningMax} calls of one caller run here`,
        )
      }
      if (this.#running.has(id)) throw new MusterError('conflict', `call ${id} runs already`)
      request = decodeRequest(wire)
      this.#load.begun(call.argumentBytes)
      this.#running.set(id, { abort, deadlineMs })
    } catch (error) {
      this.#fail(call, error)
      return
    }
    this.#deadlines.by(deadlineMs)
    void this.#run(call, request, abort.signal)
  }

  /** Never rejects: whatever the handler throws is an answer. */
  async #run(call: Call, request: CallRequest, signal: AbortSignal): Promise<void> {
    try {
      const result = await this.#handler(request, signal)
      this.#answer(call, { id: call.id, result: encodeValue(result) })
    } catch (error) {
      this.#fail(call, error)
    } finally {
      this.#running.take(call.id)
      this.#load.ended(call.argumentBytes)
    }
  }

  #answer(call: Call, response: WireResponse): void {
    const { result, error } = response
    const bytes = (result?.length ?? 0) + (error?.details.length ?? 0) + 64
    if (bytes > this.#resultBytesMax) {
      const text = `the result of ${call.method} takes ${bytes} bytes, at most ${this.#resultBytesMax} can be sent`
      this.#fail(call, new MusterError('too_large', text))
      return
    }
    if (!this.#stream.open) return
    this.#responses.push({ response, bytes })
    this.#responseBytes += bytes
    const within = this.#load.waiting(bytes, this.#responseBytes)
    if (!within || this.#responseBytes > waitingBytesMax) {
      this.#stream.close(`the caller does not read: ${this.#responseBytes} bytes of results wait`)
      return
    }
    this.#flush ??= setImmediate(() => {
      this.#flush = null
      this.#flushResponses()
    })
  }

  #fail(call: Call, error: unknown): void {
    if (error instanceof MusterError) {
      this.#answer(call, encodeFailure(call.id, error))
      return
    }
    // Not meant for callers: it may name files or values.
    this.#wire.logger.error('a call failed unexpectedly', {
      method: call.method,
      requestId: call.requestId,
      reason: textOf(error),
    })
    const text = `${call.method} failed unexpectedly; the log of the server that ran it says why`
    this.#answer(call, encodeFailure(call.id, new MusterError('internal', text)))
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
      this.#load.waiting(-bytes, this.#responseBytes)
      this.#writable = this.#stream.write(encodeCalls({ responses: batch }))
    }
  }

  /** Returns the next deadline. */
  #endLate(nowMs: number): number {
    let nextMs = Infinity
    for (const [, { abort, deadlineMs }] of this.#running.entries()) {
      if (abort.signal.aborted) continue
      if (nowMs >= deadlineMs) abort.abort()
      else nextMs = Math.min(nextMs, deadlineMs)
    }
    return nextMs
  }

  #onClose(): void {
    for (const [, { abort }] of this.#running.entries()) abort.abort()
    this.#responses = []
    this.#load.waiting(-this.#responseBytes, 0)
    this.#responseBytes = 0
    this.#deadlines.cancel()
    if (this.#flush !== null) clearImmediate(this.#flush)
  }
}
