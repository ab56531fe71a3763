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
