/**
 * The way to one orchestrator's API server: HTTPS with certificates verified, a bounded pool of connections that are kept,
 * no redirect followed, an answer bounded in size and time. `ReviewClients` owns all of them.
 */
import { Agent, request as httpsRequest } from 'node:https'
import { onAbort } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError, systemCodeOf } from '../../lib/errors.ts'
import { gather } from '../../lib/gather.ts'
import type { IncomingMessage } from '../../lib/http.ts'
import { Refused } from './refused.ts'
import type { ReviewAnswer } from './review.ts'

/** To connect, to ask and to be answered, all together. */
export const reviewMsMax = 10_000
/** An answer names a user, groups and audiences. */
export const reviewBytesMax = 256 * 1024
/** Connections to one API server. All are kept for a while: with fewer, most reviews of a burst would begin with a handshake. */
const socketsMax = 64
/** Kept as long; an API server or a balancer between may close sooner. */
const idleMsMax = 30_000
/** Reviews of one API server at once, those included that wait for a connection. */
export const reviewsMax = 512

export type ReviewTarget = {
  /** Whole URL of the review endpoint. */
  readonly url: string
  /** In PEM; null: those that the system trusts. */
  readonly authorities: string | null
}

export type ReviewRequest = {
  /** Goes into the `Authorization` header. */
  readonly bearer: string
  readonly body: string
  readonly signal: AbortSignal
}

export class ReviewClient {
  readonly #target: ReviewTarget
  readonly #clock: Clock
  readonly #agent: Agent
  #underWay = 0
  #isClosed = false

  constructor(target: ReviewTarget, clock: Clock) {
    this.#target = target
    this.#clock = clock
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: socketsMax,
      maxFreeSockets: socketsMax,
      timeout: idleMsMax,
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      ...(target.authorities === null ? {} : { ca: target.authorities }),
    })
  }

  /** No more reviews; those that are under way are answered, and their connections end with them. */
  close(): void {
    this.#isClosed = true
    if (this.#underWay === 0) this.#agent.destroy()
  }

  /** Breaks what is open. */
  destroy(): void {
    this.#isClosed = true
    this.#agent.destroy()
  }

  /** Throws `Refused` when there is no whole answer, `overloaded` at the bound. */
  async ask(asked: ReviewRequest): Promise<ReviewAnswer> {
    if (this.#underWay >= reviewsMax) {
      throw new MusterError('overloaded', 'too many token reviews are under way: try again')
    }
    this.#underWay += 1
    const ending = new AbortController()
    const end = (): void => ending.abort()
    const timer = this.#clock.setTimer(reviewMsMax, end)
    const unlisten = onAbort(asked.signal, end)
    try {
      return await this.#askTwice(asked, ending.signal)
    } catch (error) {
      if (error instanceof Refused) throw error
      if (asked.signal.aborted) throw new MusterError('cancelled', 'the caller went away')
      const reason = ending.signal.aborted
        ? `no answer within ${reviewMsMax / 1_000} seconds`
        : `the API server cannot be asked: ${systemCodeOf(error) || 'the connection failed'}`
      throw new Refused('unreachable', reason)
    } finally {
      timer.cancel()
      unlisten()
      this.#underWay -= 1
      if (this.#isClosed && this.#underWay === 0) this.#agent.destroy()
    }
  }

  /** A connection that was kept may have been closed at the other end meanwhile; the question changes nothing there. */
  async #askTwice(asked: ReviewRequest, signal: AbortSignal): Promise<ReviewAnswer> {
    const first = this.#send(asked, signal)
    try {
      return await first.answer
    } catch (error) {
      if (!first.request.reusedSocket || signal.aborted || error instanceof Refused) throw error
      return this.#send(asked, signal).answer
    }
  }

  #send({ bearer, body }: ReviewRequest, signal: AbortSignal) {
    const { promise: answer, resolve, reject } = Promise.withResolvers<ReviewAnswer>()
    const bytes = Buffer.from(body)
    const request = httpsRequest(this.#target.url, {
      method: 'POST',
      agent: this.#agent,
      signal,
      headers: {
        authorization: `Bearer ${bearer}`,
        'content-type': 'application/json',
        'content-length': bytes.length,
        accept: 'application/json',
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      bodyOf(response).then(
        (text) => resolve({ status: response.statusCode ?? 0, text }),
        (error: unknown) => {
          request.destroy()
          reject(error instanceof Error ? error : new Error(String(error)))
        },
      )
    })
    request.end(bytes)
    return { request, answer }
  }
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const bytes = await gather(response, reviewBytesMax)
  if (bytes === null) throw new Refused('unreachable', 'the answer is too long')
  return bytes.toString('utf8')
}

/** Orchestrators that are asked at once; of more, the one that was asked least recently connects anew. */
export const clientsMax = 64

/** The clients of a process, each for as long as its address and its authorities are those of a configuration. */
export class ReviewClients {
  readonly #clock: Clock
  /** By address and authorities, the least recently used first. */
  readonly #clients = new Map<string, ReviewClient>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  of(target: ReviewTarget): ReviewClient {
    const key = `${target.url}\n${target.authorities ?? ''}`
    const client = this.#clients.get(key) ?? new ReviewClient(target, this.#clock)
    this.#clients.delete(key)
    this.#clients.set(key, client)
    this.#evict()
    return client
  }

  /** Breaks what is open. */
  stop(): void {
    for (const client of this.#clients.values()) client.destroy()
    this.#clients.clear()
  }

  #evict(): void {
    if (this.#clients.size <= clientsMax) return
    const [oldest] = this.#clients
    if (oldest === undefined) return
    this.#clients.delete(oldest[0])
    oldest[1].close()
  }
}
