/**
 * How much one client may ask: requests in a time, by a bucket of tokens that fills steadily, and requests at a time.
 * Both are off unless configured, and may change while requests run. Each request costs one look into a table, whose
 * size is bounded: whoever was not seen for longest is forgotten, and begins anew with a full bucket.
 */
import { HttpRefusal } from './errors.ts'

export type ClientLimitSettings = {
  /** Requests a second; 0: no limit. */
  readonly ratePerSecond: number
  /** Requests that may come at once after a rest; at least 1 where there is a rate. */
  readonly burst: number
  /** Requests under way; 0: no limit. What waits for a change or streams is not counted. */
  readonly concurrency: number
}

export const noClientLimits: ClientLimitSettings = { ratePerSecond: 0, burst: 0, concurrency: 0 }

/** Clients whose rate is remembered. */
export const clientsMax = 32_768

/** For whoever has too much under way: when one of them will have ended, nobody knows. */
const concurrencyRetrySeconds = 1

type Bucket = { tokens: number; atMs: number }

export class ClientLimits {
  #settings: ClientLimitSettings
  readonly #clientsMax: number
  /** In order of use: the first was not used for longest. */
  readonly #buckets = new Map<string, Bucket>()
  /** As large as the requests under way at most. */
  readonly #underWay = new Map<string, number>()
  readonly #refused = { rate: 0, concurrency: 0 }

  constructor(settings: ClientLimitSettings, bounds: { readonly clientsMax?: number } = {}) {
    this.#settings = settings
    this.#clientsMax = bounds.clientsMax ?? clientsMax
  }

  get enabled(): boolean {
    return this.#settings.ratePerSecond > 0 || this.#settings.concurrency > 0
  }

  /** Requests refused so far, by limit. */
  get refused(): { readonly rate: number; readonly concurrency: number } {
    return this.#refused
  }

  get clientCount(): number {
    return this.#buckets.size
  }

  /** From now on. Buckets keep what is in them, up to the new burst. */
  configure(settings: ClientLimitSettings): void {
    this.#settings = settings
    if (settings.ratePerSecond === 0) this.#buckets.clear()
  }

  /**
   * Throws 429 with `Retry-After`. True: the request is counted as under way, and `leave` follows once. A request that is
   * refused for what is under way has used up its token all the same.
   */
  enter(client: string, nowMs: number): boolean {
    const { ratePerSecond, concurrency } = this.#settings
    if (ratePerSecond > 0) this.#take(client, nowMs)
    if (concurrency === 0) return false
    const count = this.#underWay.get(client) ?? 0
    if (count >= concurrency) {
      this.#refused.concurrency += 1
      throw new HttpRefusal(
        429,
        `too many requests of ${client} are under way: limits.http_concurrency_per_client is ${concurrency}`,
        concurrencyRetrySeconds,
      )
    }
    this.#underWay.set(client, count + 1)
    return true
  }

  leave(client: string): void {
    const left = (this.#underWay.get(client) ?? 1) - 1
    if (left === 0) this.#underWay.delete(client)
    else this.#underWay.set(client, left)
  }

  #take(client: string, nowMs: number): void {
    const { ratePerSecond, burst } = this.#settings
    const bucket = this.#bucketOf(client, nowMs)
    const filled = bucket.tokens + ((nowMs - bucket.atMs) * ratePerSecond) / 1_000
    bucket.tokens = Math.min(burst, filled)
    bucket.atMs = nowMs
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1
      return
    }
    this.#refused.rate += 1
    const waitSeconds = Math.ceil((1 - bucket.tokens) / ratePerSecond)
    throw new HttpRefusal(
      429,
      `too many requests of ${client}: limits.http_rate_per_client is ${ratePerSecond} a second, ` +
        `limits.http_burst_per_client ${burst}`,
      waitSeconds,
    )
  }

  #bucketOf(client: string, nowMs: number): Bucket {
    const known = this.#buckets.get(client)
    if (known !== undefined) {
      this.#buckets.delete(client)
      this.#buckets.set(client, known)
      return known
    }
    if (this.#buckets.size >= this.#clientsMax) {
      const [oldest] = this.#buckets.keys()
      if (oldest !== undefined) this.#buckets.delete(oldest)
    }
    const bucket = { tokens: this.#settings.burst, atMs: nowMs }
    this.#buckets.set(client, bucket)
    return bucket
  }
}
