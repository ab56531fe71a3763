/**
 * Failed logins, counted in memory. By mount and name at the leader, which locks a name that fails too often: a name that nobody
 * has costs an entry here and none in the state until then. By address at each server: one that guesses has to wait.
 * A new leader counts from 0, and so does one that has forgotten the names which failed longest ago.
 */
import { randomInt } from 'node:crypto'
import { clientOf } from '../../lib/client-address.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { mountsMax, type Lockout } from './model.ts'

const namesMax = 65_536
const sourcesMax = 16_384

/** Failed logins of one address in `sourceWindowMs` on one server; more are refused until the time is over. */
export const failuresPerSourceMax = 600
export const sourceWindowMs = 60_000

/** Names that the failures of one address lock in `lockingWindowMs`: it does not lock a whole company out. */
export const locksPerSourceMax = 32
export const lockingWindowMs = 900_000

type Failures = { count: number; lastMs: number }
type Counted = { count: number; readonly sinceMs: number }

export class FailedLogins {
  readonly #names = new LruMap<string, Failures>(namesMax)
  readonly #locking = new LruMap<string, Counted>(sourcesMax)

  /** Monotonic `nowMs`. True: the name is to be locked now, and counted anew. */
  fail(mountId: string, name: string, { threshold, counterResetMs }: Lockout, nowMs: number) {
    const key = keyOf(mountId, name)
    const before = this.#names.get(key)
    const counts = before !== undefined && nowMs - before.lastMs < counterResetMs
    const count = counts ? before.count + 1 : 1
    if (count < threshold) {
      this.#names.set(key, { count, lastMs: nowMs })
      return false
    }
    this.#names.delete(key)
    return true
  }

  /** Whether a name is locked for failures of this address; then it counts as one more. */
  mayLock(address: string, nowMs: number): boolean {
    const counted = countedIn(this.#locking, address, lockingWindowMs, nowMs)
    if (counted.count >= locksPerSourceMax) return false
    counted.count += 1
    return true
  }

  /** The name logged in, or was unlocked. */
  forget(mountId: string, name: string): void {
    this.#names.delete(keyOf(mountId, name))
  }
}

export class LoginSources {
  readonly #sources = new LruMap<string, Counted>(sourcesMax)

  fail(address: string, nowMs: number): void {
    countedIn(this.#sources, address, sourceWindowMs, nowMs).count += 1
  }

  /** It waits from now on, however often it has failed here. */
  stop(address: string, nowMs: number): void {
    this.#sources.set(clientOf(address), { count: failuresPerSourceMax, sinceMs: nowMs })
  }

  /** Milliseconds until it may try again; 0: now. */
  waitMs(address: string, nowMs: number): number {
    const known = this.#sources.get(clientOf(address))
    if (known === undefined || known.count < failuresPerSourceMax) return 0
    return Math.max(0, known.sinceMs + sourceWindowMs - nowMs)
  }
}

/** Refused logins of one mount whose times are kept. */
const timesMax = 64
/** Where no login was refused yet. */
const unknownTimeMs = 10

/**
 * How long refused logins took at this server: one by a locked name, which asks nobody, is refused after as long as another, so that
 * its time tells no more than its text.
 */
export class RefusalTimes {
  readonly #byMount = new LruMap<string, number[]>(mountsMax)

  add(mountId: string, ms: number): void {
    const times = this.#byMount.get(mountId) ?? []
    this.#byMount.set(mountId, [...times.slice(1 - timesMax), ms])
  }

  /** One of the last ones. */
  draw(mountId: string): number {
    const times = this.#byMount.get(mountId) ?? [unknownTimeMs]
    return times[randomInt(times.length)] ?? unknownTimeMs
  }
}

/** What is counted of an address in this window; from 0 where none is open. */
function countedIn(
  sources: LruMap<string, Counted>,
  address: string,
  windowMs: number,
  nowMs: number,
): Counted {
  const client = clientOf(address)
  const before = sources.get(client)
  if (before !== undefined && nowMs - before.sinceMs < windowMs) return before
  const counted = { count: 0, sinceMs: nowMs }
  sources.set(client, counted)
  return counted
}

function keyOf(mountId: string, name: string): string {
  return `${mountId} ${name}`
}
