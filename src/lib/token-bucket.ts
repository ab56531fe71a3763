/** How often something may be done: a bucket of tokens that fills steadily, so that after a rest several may come at once. */

import type { Clock } from './clock.ts'
import { LruMap } from './lru-map.ts'

/** Plain numbers: there may be one for each client. */
export type TokenBucket = { tokens: number; atMs: number }

export type Rate = {
  /** Above 0. */
  readonly perSecond: number
  /** Tokens of a full bucket, at least 1. */
  readonly burst: number
}

export function fullBucket({ burst }: Rate, nowMs: number): TokenBucket {
  return { tokens: burst, atMs: nowMs }
}

/** Seconds until there are `count` tokens; 0: they are taken. What is above a burst that has become smaller is lost. */
export function takeToken(
  bucket: TokenBucket,
  { perSecond, burst }: Rate,
  nowMs: number,
  count = 1,
): number {
  const filled = bucket.tokens + ((nowMs - bucket.atMs) * perSecond) / 1_000
  bucket.tokens = Math.min(burst, filled)
  bucket.atMs = nowMs
  if (bucket.tokens < count) return (count - bucket.tokens) / perSecond
  bucket.tokens -= count
  return 0
}

/** A bucket for each of many, of one rate. Only of the last so many is it known what they took; another one's is full. */
export class TokenBuckets {
  readonly #rate: Rate
  readonly #clock: Clock
  readonly #buckets: LruMap<string, TokenBucket>

  constructor(rate: Rate, knownMax: number, clock: Clock) {
    this.#rate = rate
    this.#clock = clock
    this.#buckets = new LruMap(knownMax)
  }

  /** As `takeToken`. */
  take(key: string, count = 1): number {
    const nowMs = this.#clock.monotonicMs()
    const bucket = this.#buckets.get(key) ?? fullBucket(this.#rate, nowMs)
    this.#buckets.set(key, bucket)
    return takeToken(bucket, this.#rate, nowMs, count)
  }
}
