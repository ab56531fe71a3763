/** How often something may be done: a bucket of tokens that fills steadily, so that after a rest several may come at once. */

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

/** Seconds until there is a token; 0: it is taken. What is above a burst that has become smaller is lost. */
export function takeToken(bucket: TokenBucket, { perSecond, burst }: Rate, nowMs: number): number {
  const filled = bucket.tokens + ((nowMs - bucket.atMs) * perSecond) / 1_000
  bucket.tokens = Math.min(burst, filled)
  bucket.atMs = nowMs
  if (bucket.tokens < 1) return (1 - bucket.tokens) / perSecond
  bucket.tokens -= 1
  return 0
}
