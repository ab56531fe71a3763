/**
 * How much one client may ask: requests in a time, by a bucket of tokens that fills steadily, and requests at a time.
 * Both are off unless configured, and may change while requests run. A request of a client that is known costs one look
 * into a table and changes nothing in it but numbers: a table whose entries come and go with each request is dear to the
 * collector.
 */
import { takeToken, type TokenBucket } from '../lib/token-bucket.ts'
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

/** Clients that are remembered; those with a request under way besides. */
export const clientsMax = 32_768

/** For a client with too much under way: it is unknown when one of its requests will have ended. */
const concurrencyRetrySeconds = 1

/** One client, as long as it is remembered or has a request under way. */
export type LimitedClient = TokenBucket & { underWay: number }

export class ClientLimits {
  #settings: ClientLimitSettings
  readonly #generationMax: number
  /**
   * Clients by name, in two generations: who is asked for comes into the young one; when so many did, the old one is
   * forgotten, and the young one is the old one. So a client that is forgotten was not seen while as many others were.
   */
  #young = new Map<string, LimitedClient>()
  #old = new Map<string, LimitedClient>()
  /** Clients that came into the young generation since it began. */
  #came = 0
  readonly #refused = { rate: 0, concurrency: 0 }

  constructor(settings: ClientLimitSettings, bounds: { readonly clientsMax?: number } = {}) {
    this.#settings = settings
    this.#generationMax = Math.ceil((bounds.clientsMax ?? clientsMax) / 2)
  }

  get enabled(): boolean {
    return this.#settings.ratePerSecond > 0 || this.#settings.concurrency > 0
  }

  /** Requests refused so far, by limit. */
  get refused(): { readonly rate: number; readonly concurrency: number } {
    return this.#refused
  }

  /** Entries of the table; a client may have one in each generation. */
  get entryCount(): number {
    return this.#young.size + this.#old.size
  }

  /** From now on. Buckets keep what is in them, up to the new burst. */
  configure(settings: ClientLimitSettings): void {
    this.#settings = settings
    if (this.enabled) return
    this.#young = new Map()
    this.#old = new Map()
    this.#came = 0
  }

  /**
   * Throws 429 with `Retry-After`. A request that is refused for what is under way has used up its token all the same.
   * Not null: the request is counted as under way, and `leave` follows once.
   */
  enter(name: string, nowMs: number): LimitedClient | null {
    const { ratePerSecond, concurrency } = this.#settings
    const client = this.#find(name, nowMs)
    if (ratePerSecond > 0) this.#take(name, client, nowMs)
    if (concurrency === 0) return null
    if (client.underWay >= concurrency) {
      this.#refused.concurrency += 1
      throw new HttpRefusal(
        429,
        `too many requests of ${name} are under way: limits.http_concurrency_per_client is ${concurrency}`,
        concurrencyRetrySeconds,
      )
    }
    client.underWay += 1
    return client
  }

  leave(client: LimitedClient): void {
    client.underWay -= 1
  }

  #take(name: string, client: LimitedClient, nowMs: number): void {
    const { ratePerSecond, burst } = this.#settings
    const waitSeconds = takeToken(client, { perSecond: ratePerSecond, burst }, nowMs)
    if (waitSeconds === 0) return
    this.#refused.rate += 1
    throw new HttpRefusal(
      429,
      `too many requests of ${name}: limits.http_rate_per_client is ${ratePerSecond} a second, ` +
        `limits.http_burst_per_client ${burst}`,
      Math.ceil(waitSeconds),
    )
  }

  #find(name: string, nowMs: number): LimitedClient {
    const known = this.#young.get(name)
    if (known !== undefined) return known
    const { burst } = this.#settings
    const client = this.#old.get(name) ?? { tokens: burst, atMs: nowMs, underWay: 0 }
    if (this.#came >= this.#generationMax) this.#beginGeneration()
    this.#came += 1
    this.#young.set(name, client)
    return client
  }

  /** Who has a request under way stays, or it would be counted from 0 again. */
  #beginGeneration(): void {
    const gone = this.#old
    this.#old = this.#young
    this.#young = new Map()
    this.#came = 0
    for (const [name, client] of gone) {
      if (client.underWay > 0 && !this.#old.has(name)) this.#young.set(name, client)
    }
  }
}
