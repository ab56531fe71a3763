/**
 * Failed logins, counted in memory. By mount and name at the leader, which locks a name that fails too often: a name that nobody
 * has costs an entry here and none in the state until then. By address at each server: one that guesses has to wait.
 * A new leader counts from 0, and so does one that has forgotten the names which failed longest ago.
 */
import { clientOf } from '../../lib/client-address.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { Lockout } from './model.ts'

const namesMax = 65_536
const sourcesMax = 16_384

/** Failed logins of one address in `sourceWindowMs` on one server; more are refused until the time is over. */
export const failuresPerSourceMax = 600
export const sourceWindowMs = 60_000

type Failures = { count: number; lastMs: number }

export class FailedLogins {
  readonly #names = new LruMap<string, Failures>(namesMax)

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

  /** The name logged in, or was unlocked. */
  forget(mountId: string, name: string): void {
    this.#names.delete(keyOf(mountId, name))
  }
}

export class LoginSources {
  readonly #sources = new LruMap<string, { count: number; readonly sinceMs: number }>(sourcesMax)

  fail(address: string, nowMs: number): void {
    const client = clientOf(address)
    const before = this.#sources.get(client)
    if (before !== undefined && nowMs - before.sinceMs < sourceWindowMs) before.count += 1
    else this.#sources.set(client, { count: 1, sinceMs: nowMs })
  }

  /** Milliseconds until it may try again; 0: now. */
  waitMs(address: string, nowMs: number): number {
    const known = this.#sources.get(clientOf(address))
    if (known === undefined || known.count < failuresPerSourceMax) return 0
    return Math.max(0, known.sinceMs + sourceWindowMs - nowMs)
  }
}

function keyOf(mountId: string, name: string): string {
  return `${mountId} ${name}`
}
