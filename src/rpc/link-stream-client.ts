/**
 * The reading side of one streamed call: dials, asks, and hands out items as they come.
 *
 * Invariant: no more than the window's bytes (and one item) wait here, however slowly they are read: the other side
 * sends only what it has credit for, and credit is given back as items are taken.
 */
import { nothing, onAbort } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { dial } from '../wire/dial.ts'
import type { FrameStream } from '../wire/stream.ts'
import type { Wire } from '../wire/wire.ts'
import {
  decodeFailure,
  decodeValue,
  encodeRequest,
  encodeValue,
  type WireCallError,
} from './link-codec.ts'
import {
  decodeStreamFrame,
  encodeStreamFrame,
  itemCost,
  streamPath,
  streamWindowBytes,
  type StreamFrame,
} from './link-stream-codec.ts'
import type { CallRequest, CallTarget } from './link.ts'

type Decode = (bytes: Uint8Array) => unknown

type Settle = (outcome: { readonly error: unknown } | 'accepted') => void

/** Resolves once the other side took the call; rejects with its refusal, `unavailable`, `timeout` or `cancelled`. */
export async function openLinkStream(
  wire: Wire,
  target: CallTarget,
  request: CallRequest,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<unknown>> {
  if (signal.aborted) throw cancelled(request.method)
  let connection: FrameStream
  try {
    const { address, id } = target
    connection = await dial(wire, { address, path: streamPath, to: id ?? '' }, signal)
  } catch (error) {
    if (signal.aborted) throw cancelled(request.method)
    throw new MusterError('unavailable', textOf(error), { cause: error })
  }
  return readLinkStream(wire.clock, connection, target, request, signal)
}

/** As `openLinkStream`, on a stream that stands already. `decode`: of its items. */
export function readLinkStream(
  clock: Clock,
  connection: FrameStream,
  target: Pick<CallTarget, 'address'>,
  request: CallRequest,
  signal: AbortSignal,
  decode: Decode = decodeValue,
): Promise<AsyncIterableIterator<unknown>> {
  const reader = new LinkStreamReader(connection, target, request.method, decode)
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(request.timeoutMs, () => {
      const text = `${request.method} was not taken by ${target.address} within ${request.timeoutMs} ms`
      reader.fail(new MusterError('timeout', text))
    })
    reader.start(encodeRequest(1, request, encodeValue(request.args)), signal, (outcome) => {
      timer.cancel()
      if (outcome === 'accepted') resolve(reader)
      else reject(outcome.error)
    })
  })
}

class LinkStreamReader implements AsyncIterableIterator<unknown> {
  readonly #connection: FrameStream
  readonly #target: Pick<CallTarget, 'address'>
  readonly #method: string
  readonly #decode: Decode
  readonly #items: Uint8Array[] = []
  #settle: Settle | null = null
  #wake: (() => void) | null = null
  /** Bytes taken since credit was last given back. */
  #takenBytes = 0
  /** What the other side may still send; one item may go below 0. */
  #creditBytes = streamWindowBytes
  #ending: 'done' | { readonly error: unknown } | null = null
  #stopListening = nothing

  constructor(
    connection: FrameStream,
    target: Pick<CallTarget, 'address'>,
    method: string,
    decode: Decode,
  ) {
    this.#connection = connection
    this.#target = target
    this.#method = method
    this.#decode = decode
  }

  start(open: StreamFrame['open'], signal: AbortSignal, settle: Settle): void {
    this.#settle = settle
    this.#stopListening = onAbort(signal, () => this.fail(cancelled(this.#method)))
    this.#connection.start({
      onFrame: (frame) => this.#onFrame(frame),
      onDrain: () => {},
      onClose: (reason) => {
        const { address } = this.#target
        const text = `the connection to ${address} was lost during ${this.#method}: ${reason}`
        this.#end({ error: new MusterError('unavailable', text) })
      },
    })
    if (signal.aborted) return
    this.#connection.write(encodeStreamFrame({ open, credit: streamWindowBytes }))
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<unknown>> {
    for (;;) {
      const item = this.#items.shift()
      if (item !== undefined) {
        this.#giveBack(itemCost(item))
        return { value: this.#read(item), done: false }
      }
      if (this.#ending === 'done') return { value: undefined, done: true }
      if (this.#ending !== null) {
        const { error } = this.#ending
        this.#ending = 'done'
        throw error
      }
      await new Promise<void>((wake) => (this.#wake = wake))
    }
  }

  /** What cannot be read ends the stream. */
  #read(item: Uint8Array): unknown {
    try {
      return this.#decode(item)
    } catch (error) {
      this.#items.length = 0
      this.#end('done')
      throw error
    }
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.#items.length = 0
    this.#end('done')
    return { value: undefined, done: true }
  }

  /** What waits is dropped: a caller that cancels does not read on. */
  fail(error: MusterError): void {
    this.#items.length = 0
    this.#end({ error })
  }

  #onFrame(bytes: Buffer): void {
    let frame
    try {
      frame = decodeStreamFrame(bytes)
    } catch (error) {
      this.#end({ error })
      return
    }
    // Buffers of frames are views: an item that waits keeps its frame. One that is hardly larger may stay.
    for (const item of frame.items) {
      if (this.#creditBytes <= 0) {
        const text = `${this.#method} sends beyond its credit`
        this.fail(new MusterError('corrupt', text))
        return
      }
      this.#creditBytes -= itemCost(item)
      this.#items.push(item.length * 2 < bytes.length ? Buffer.from(item) : item)
    }
    if (frame.ended) {
      this.#end(frame.error === null ? 'done' : { error: this.#failureOf(frame.error) })
      return
    }
    if (frame.accepted) this.#settled('accepted')
    this.#wake?.()
  }

  #failureOf(error: WireCallError): unknown {
    try {
      return decodeFailure(error, this.#decode)
    } catch (unreadable) {
      return unreadable
    }
  }

  #giveBack(bytes: number): void {
    this.#takenBytes += bytes
    if (this.#takenBytes < streamWindowBytes / 2 || this.#ending !== null) return
    this.#connection.write(encodeStreamFrame({ credit: this.#takenBytes }))
    this.#creditBytes += this.#takenBytes
    this.#takenBytes = 0
  }

  #end(ending: 'done' | { readonly error: unknown }): void {
    if (this.#ending !== null) return
    this.#ending = ending
    this.#stopListening()
    this.#connection.close('the stream is over')
    this.#settled(ending === 'done' ? 'accepted' : ending)
    this.#wake?.()
  }

  #settled(outcome: Parameters<Settle>[0]): void {
    const settle = this.#settle
    this.#settle = null
    settle?.(outcome)
  }
}

function cancelled(method: string): MusterError {
  return new MusterError('cancelled', `the caller of ${method} went away`)
}
