/**
 * Request bodies: bounded in bytes and in time, each by itself and all together, whatever the client declares. One timer
 * watches all that are arriving, so that a small request, whose body is there with its head, costs none.
 */
import type { IncomingMessage } from 'node:http'
import { ChurnMap } from '../lib/churn-map.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import { BodyBudget, type BodyShare } from './body-budget.ts'
import { BodyPieces } from './body-pieces.ts'
import { HttpRefusal } from './errors.ts'
import { freeBytes } from './free-bytes.ts'
import { continueBody, IncomingRequest, takeBody, waitsForContinue } from './incoming.ts'
import { smallBodyBytesMax } from './route.ts'

export type BodyLimits = {
  /** All bodies under way together, in memory. */
  readonly bodiesBytesMax: number
  /** For a whole body that is read into memory. */
  readonly bodyMs: number
  /** For the next piece of a body that is read into memory. */
  readonly bodyStallMs: number
  /** For the next piece of a body that is streamed. */
  readonly bodyIdleMs: number
  /** Of a streamed body, in the time that is spent waiting for it, after the first `bodyIdleMs`. */
  readonly bodyBytesPerSecondMin: number
}

/** A body on its way into memory. */
export type BodyWanted = {
  readonly bytesMax: number
  /** What it holds, given back by the reader: `release` of the budget. */
  readonly share: BodyShare
  /**
   * Asked once before more than 64 KiB of it are read, and throws or rejects for a client that may not send as much. Null:
   * it may, at once.
   */
  readonly admit: () => Promise<void> | null
}

const sweepMs = 1_000
/** A body that has been arriving for so long makes room for others when there is none. */
const evictableMs = 1_000
/** What a streamed body holds at most: the piece at hand, and what Node has read ahead. */
const streamBytesHeld = 131_072

type Arriving = {
  readonly place: number
  readonly beganMs: number
  dueMs: number
  /** A piece came since the last sweep. */
  moved: boolean
  /** Null: it makes room for nobody. */
  readonly share: BodyShare | null
  readonly end: (refusal: MusterError) => void
}

export class BodyReader {
  readonly budget: BodyBudget
  readonly #clock: Clock
  readonly #limits: BodyLimits
  readonly #arriving = new ChurnMap<number, Arriving>()
  #watched = 0
  #timer: Timer | null = null

  constructor(clock: Clock, limits: BodyLimits) {
    this.#clock = clock
    this.#limits = limits
    this.budget = new BodyBudget(limits.bodiesBytesMax)
  }

  /**
   * Rejects with 413 beyond `bytesMax`, 408 when it takes too long, 503 when there is no room for it, `cancelled` when the
   * client goes away, and as `admit` does.
   */
  read(request: IncomingMessage, wanted: BodyWanted): Promise<Uint8Array> {
    const announced = announcedBytes(request)
    if (announced > wanted.bytesMax) return Promise.reject(tooLarge(wanted.bytesMax))
    const pieces = new BodyPieces(request instanceof IncomingRequest)
    // Of a body in chunks the length is not known, and a client that waits with it loses nothing by the question.
    const isAsked = announced > smallBodyBytesMax || (announced === 0 && waitsForContinue(request))
    if (isAsked) return this.#readLarge(request, wanted, pieces)
    return this.#collect(request, wanted, pieces, smallBodyBytesMax)
  }

  /** Throws as `read` does, while it is iterated. */
  async *stream(
    request: IncomingMessage,
    { bytesMax, share }: Omit<BodyWanted, 'admit'>,
  ): AsyncGenerator<Uint8Array> {
    const announced = announcedBytes(request)
    if (announced > bytesMax) throw tooLarge(bytesMax)
    const { bodyIdleMs, bodyBytesPerSecondMin } = this.#limits
    const held = request.headers['transfer-encoding'] === undefined ? announced : Infinity
    if (!this.budget.grow(share, Math.min(held, streamBytesHeld))) throw this.#noRoom()
    let length = 0
    let slow = false
    let waitedMs = 0
    const arriving = this.#watch(bodyIdleMs, null, () => {
      slow = true
      request.destroy()
    })
    let waitingSinceMs = arriving.beganMs
    continueBody(request)
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        length += chunk.length
        if (length > bytesMax) throw tooLarge(bytesMax)
        waitedMs += this.#clock.monotonicMs() - waitingSinceMs
        const patienceMs = bodyIdleMs + (length * 1_000) / bodyBytesPerSecondMin
        if (waitedMs > patienceMs) throw tooSlow(Math.round(patienceMs))
        // While the consumer works, the client is not the one who is slow.
        arriving.dueMs = Infinity
        yield chunk
        waitingSinceMs = this.#clock.monotonicMs()
        arriving.dueMs = waitingSinceMs + bodyIdleMs
      }
    } catch (error) {
      if (slow) throw tooSlow(bodyIdleMs)
      throw error instanceof MusterError ? error : gone()
    } finally {
      this.#arriving.take(arriving.place)
      this.budget.release(share)
    }
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  /** What has come of it is in `pieces`; the rest is still with the request. */
  async #readLarge(
    request: IncomingMessage,
    wanted: BodyWanted,
    pieces: BodyPieces,
  ): Promise<Uint8Array> {
    try {
      const admitted = wanted.admit()
      if (admitted !== null) {
        await admitted
        if (request.destroyed && !request.complete) throw gone()
      }
    } catch (error) {
      pieces.drop()
      throw error
    }
    return this.#collect(request, wanted, pieces, Infinity)
  }

  /** Beyond `freeBytes` it asks whether the client may send as much. */
  #collect(
    request: IncomingMessage,
    wanted: BodyWanted,
    pieces: BodyPieces,
    freeBytes: number,
  ): Promise<Uint8Array> {
    const { bytesMax, share } = wanted
    const announced = announcedBytes(request)
    return new Promise((resolve, reject) => {
      let ended = false
      const leave = (): void => {
        ended = true
        this.#arriving.take(arriving.place)
        untake()
        request.off('close', onClose)
      }
      const refuse = (refusal: MusterError): void => {
        if (ended) return
        leave()
        pieces.drop()
        this.budget.release(share)
        reject(refusal)
      }
      const onClose = (): void => refuse(gone())
      const arriving = this.#watch(this.#limits.bodyMs, share, refuse)
      const untake = takeBody(request, (piece) => {
        if (ended) return
        if (piece === null) {
          leave()
          resolve(pieces.whole())
          return
        }
        arriving.moved = true
        const length = pieces.length + piece.length
        if (length > bytesMax) {
          refuse(tooLarge(bytesMax))
          return
        }
        const cost = pieces.costOf(piece, announced)
        if (!this.#hold(share, cost, arriving)) {
          refuse(this.#noRoom())
          return
        }
        pieces.add(piece, cost)
        if (length > freeBytes) {
          leave()
          resolve(this.#readLarge(request, wanted, pieces))
        }
      })
      request.on('close', onClose)
      continueBody(request)
    })
  }

  /** Bodies that are slow make room; the one that came first goes first. */
  #hold(share: BodyShare, bytes: number, own: Arriving): boolean {
    if (bytes === 0 || this.budget.grow(share, bytes)) return true
    const atMs = this.#clock.monotonicMs() - evictableMs
    const large = share.large || share.bytes + bytes > smallBodyBytesMax
    for (const [, other] of this.#arriving.entries()) {
      if (other.beganMs > atMs) break
      if (other === own || other.share === null || other.share.bytes === 0) continue
      // What small bodies hold is no room for a large one.
      if (large && !other.share.large) continue
      this.budget.refusedCount += 1
      other.end(crowdedOut())
      if (this.budget.grow(share, bytes)) return true
    }
    return false
  }

  #noRoom(): MusterError {
    this.budget.refusedCount += 1
    return crowdedOut()
  }

  #watch(ms: number, share: BodyShare | null, end: (refusal: MusterError) => void): Arriving {
    this.#watched += 1
    const beganMs = this.#clock.monotonicMs()
    const arriving: Arriving = {
      place: this.#watched,
      beganMs,
      dueMs: beganMs + ms,
      moved: true,
      share,
      end,
    }
    this.#arriving.set(arriving.place, arriving)
    this.#timer ??= this.#clock.setTimer(sweepMs, () => this.#sweep())
    return arriving
  }

  #sweep(): void {
    this.#timer = null
    const nowMs = this.#clock.monotonicMs()
    const { bodyMs, bodyStallMs } = this.#limits
    for (const [place, arriving] of this.#arriving.entries()) {
      if (arriving.dueMs <= nowMs) {
        this.#arriving.take(place)
        const late = nowMs >= arriving.beganMs + bodyMs
        arriving.end(late ? tooSlow(bodyMs) : stalled(bodyStallMs))
      } else if (arriving.share !== null && arriving.moved) {
        arriving.moved = false
        arriving.dueMs = Math.min(arriving.beganMs + bodyMs, nowMs + bodyStallMs)
      }
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
      if (request instanceof IncomingRequest) freeBytes(chunk)
      if (length > bounds.bytesMax) done()
    }
    const timer = bounds.clock.setTimer(bounds.ms, done)
    request.on('data', onData).on('end', done).on('close', done).on('error', ignore)
    request.resume()
  })
}

function announcedBytes(request: IncomingMessage): number {
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

function stalled(ms: number): HttpRefusal {
  return new HttpRefusal(408, `no more of the request body came for ${ms} ms`)
}

function crowdedOut(): MusterError {
  return new MusterError(
    'overloaded',
    'too many request bodies are under way here for limits.http_bodies_bytes_max, try later',
  )
}

function gone(): MusterError {
  return new MusterError('cancelled', 'the client went away')
}

function ignore(): void {}
