/**
 * Request bodies: bounded in bytes and in time, whatever the client declares. One timer watches all that are arriving,
 * so that a small request, whose body is there with its head, costs none.
 */
import type { IncomingMessage } from 'node:http'
import { ChurnMap } from '../lib/churn-map.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import { HttpRefusal } from './errors.ts'
import { takeBody } from './incoming.ts'

export type BodyTiming = {
  /** For a whole body that is read into memory. */
  readonly bodyMs: number
  /** For the next piece of a body that is streamed. */
  readonly bodyIdleMs: number
}

const sweepMs = 1_000

type Arriving = { readonly place: number; dueMs: number; readonly expire: () => void }

export class BodyReader {
  readonly #clock: Clock
  readonly #timing: BodyTiming
  readonly #arriving = new ChurnMap<number, Arriving>()
  #watched = 0
  #timer: Timer | null = null

  constructor(clock: Clock, timing: BodyTiming) {
    this.#clock = clock
    this.#timing = timing
  }

  /** Rejects with 413 beyond `bytesMax`, 408 when it takes too long, `cancelled` when the client goes away. */
  read(request: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
    if (declaredBytes(request) > bytesMax) return Promise.reject(tooLarge(bytesMax))
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = []
      let length = 0
      const end = () => {
        this.#arriving.take(arriving.place)
        leave()
      }
      const arriving = this.#watch(this.#timing.bodyMs, () => {
        end()
        reject(tooSlow(this.#timing.bodyMs))
      })
      const leave = takeBody(request, (piece) => {
        if (piece === null) {
          end()
          resolve(
            pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces),
          )
          return
        }
        length += piece.length
        if (length <= bytesMax) {
          pieces.push(piece)
          return
        }
        end()
        reject(tooLarge(bytesMax))
      })
      request.on('close', () => {
        end()
        reject(gone())
      })
    })
  }

  /** Throws as `read` does, while it is iterated. */
  async *stream(request: IncomingMessage, bytesMax: number): AsyncGenerator<Uint8Array> {
    if (declaredBytes(request) > bytesMax) throw tooLarge(bytesMax)
    const { bodyIdleMs } = this.#timing
    let length = 0
    let slow = false
    const arriving = this.#watch(bodyIdleMs, () => {
      slow = true
      request.destroy()
    })
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        length += chunk.length
        if (length > bytesMax) throw tooLarge(bytesMax)
        // While the consumer works, the client is not the one who is slow.
        arriving.dueMs = Infinity
        yield chunk
        arriving.dueMs = this.#clock.monotonicMs() + bodyIdleMs
      }
    } catch (error) {
      if (slow) throw tooSlow(bodyIdleMs)
      throw error instanceof MusterError ? error : gone()
    } finally {
      this.#arriving.take(arriving.place)
    }
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #watch(ms: number, expire: () => void): Arriving {
    this.#watched += 1
    const arriving = { place: this.#watched, dueMs: this.#clock.monotonicMs() + ms, expire }
    this.#arriving.set(arriving.place, arriving)
    this.#timer ??= this.#clock.setTimer(sweepMs, () => this.#sweep())
    return arriving
  }

  #sweep(): void {
    this.#timer = null
    const nowMs = this.#clock.monotonicMs()
    for (const [place, arriving] of this.#arriving.entries()) {
      if (arriving.dueMs > nowMs) continue
      this.#arriving.take(place)
      arriving.expire()
    }
    if (this.#arriving.size > 0) {
      this.#timer = this.#clock.setTimer(sweepMs, () => this.#sweep())
    }
  }
}

/** Whether the head announces a body. */
export function announcesBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length']
  return (
    request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
  )
}

/**
 * Reads and drops what is left of a refused body, within bounds: a connection that is closed while the client still
 * sends is reset, and takes the answer with it.
 */
export function readAway(
  request: IncomingMessage,
  bounds: { readonly bytesMax: number; readonly ms: number; readonly clock: Clock },
): Promise<void> {
  return new Promise((resolve) => {
    let length = 0
    const done = () => {
      timer.cancel()
      request.off('data', onData).off('end', done).off('close', done)
      resolve()
    }
    const onData = (chunk: Buffer) => {
      length += chunk.length
      if (length > bounds.bytesMax) done()
    }
    const timer = bounds.clock.setTimer(bounds.ms, done)
    request.on('data', onData).on('end', done).on('close', done).on('error', ignore)
    request.resume()
  })
}

function declaredBytes(request: IncomingMessage): number {
  return Number(request.headers['content-length'] ?? 0)
}

function tooLarge(bytesMax: number): MusterError {
  return new MusterError(
    'too_large',
    `the request body is too large: it has over ${bytesMax} bytes`,
  )
}

function tooSlow(ms: number): HttpRefusal {
  return new HttpRefusal(408, `the request body did not arrive within ${ms} ms`)
}

function gone(): MusterError {
  return new MusterError('cancelled', 'the client went away')
}

function ignore(): void {}
