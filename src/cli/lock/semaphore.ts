/**
 * A lock of several holders, in Consul's format so that its clients contend for the same: each contender locks a key of its
 * own below the prefix, and one entry lists the holders. A contender that changes the list has read it, drops holders whose key is
 * gone, and writes it only if it is still as it was and its own key still locked.
 */
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { isObject, parseJson } from '../../lib/exact-json.ts'
import type { Entries, Entry } from './entries.ts'
import type { Exclusion, Held, Loss } from './exclusion.ts'
import { followIndex, type ReadRetries } from './follow.ts'

/** The list stays far below the largest value. */
export const holdersMax = 4_096
/** Says of an entry that it is a semaphore's, and not a lock. */
export const semaphoreFlags = 16_210_313_421_097_356_768n
/** After a list that another one changed first. */
const pauseMs = 50

export type SemaphoreOptions = {
  readonly clock: Clock
  readonly entries: Entries
  readonly prefix: string
  readonly holdersMax: number
  readonly retries: ReadRetries
}

type Places = {
  readonly holders: readonly string[]
  /** Of the list, '0' when there is none. */
  readonly index: string
}

export class Semaphore implements Exclusion {
  /** A lock delay is one of keys, and each contender has its own: the place is free as soon as the session has ended. */
  readonly isHeldBack = false
  readonly #options: SemaphoreOptions
  readonly #listKey: string

  constructor(options: SemaphoreOptions) {
    this.#options = options
    this.#listKey = semaphoreListKey(options.prefix)
  }

  async acquire(session: string, signal: AbortSignal): Promise<Held> {
    const { clock, entries, holdersMax } = this.#options
    const key = this.#contender(session)
    if (!(await entries.lock(key, session, semaphoreFlags, signal))) {
      throw new MusterError('conflict', `the key ${JSON.stringify(key)} is locked by another one`)
    }
    return followIndex(
      (after) => this.#list(signal, after),
      async (seen) => {
        let found = seen.value
        for (;;) {
          const { holders, index } = this.#places(found)
          const own = found.find((entry) => entry.key === key && entry.session === session)
          if (own === undefined) {
            throw new MusterError('conflict', 'the session ended while it waited for a place')
          }
          const held: Held = { key, lockIndex: own.lockIndex }
          if (holders.includes(session)) return held
          if (holders.length >= holdersMax) return undefined
          await this.#write([...holders, session], index, held, signal)
          // Whatever came of it, the list says.
          found = (await this.#list(signal)).value
          if (!this.#places(found).holders.includes(session)) {
            await delay(clock, pauseMs, signal)
          }
        }
      },
      { clock, signal, retries: null },
    )
  }

  async lost(session: string, held: Held, signal: AbortSignal): Promise<Loss> {
    const { clock, retries } = this.#options
    return followIndex(
      (after) => this.#list(signal, after),
      ({ value }) => {
        const own = value.find(({ key }) => key === held.key)
        if (own?.session !== session || own.lockIndex !== held.lockIndex) {
          return { reason: 'its session was ended', isHeldBack: false }
        }
        if (this.#places(value).holders.includes(session)) return undefined
        return { reason: 'another holder got its place', isHeldBack: false }
      },
      { clock, signal, retries },
    )
  }

  async release(session: string, held: Held, signal: AbortSignal): Promise<void> {
    const { clock, entries } = this.#options
    for (;;) {
      const { holders, index } = this.#places((await this.#list(signal)).value)
      if (!holders.includes(session)) break
      const rest = holders.filter((holder) => holder !== session)
      const done = await this.#write(rest, index, held, signal).catch(() => false)
      if (!done) await delay(clock, pauseMs, signal)
    }
    await entries.delete(held.key, signal)
    const { holders, index } = this.#places((await this.#list(signal)).value)
    if (holders.length === 0 && index !== '0') {
      await entries.deleteAt(this.#listKey, index, signal)
    }
  }

  #contender(session: string): string {
    return `${this.#options.prefix}/${session}`
  }

  async #list(signal: AbortSignal, after?: string) {
    return this.#options.entries.list(`${this.#options.prefix}/`, signal, after)
  }

  #write(
    holders: readonly string[],
    index: string,
    fence: Held,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { entries, holdersMax } = this.#options
    const list = {
      Limit: holdersMax,
      Holders: Object.fromEntries(holders.map((session) => [session, true])),
    }
    const content = { value: JSON.stringify(list), flags: semaphoreFlags, fence }
    return entries.replace(this.#listKey, index, content, signal)
  }

  /** Those on the list whose sessions live. Throws `conflict` for a list that is none, or of another size. */
  #places(entries: readonly Entry[]): Places {
    const list = entries.find(({ key }) => key === this.#listKey)
    if (list === undefined) return { holders: [], index: '0' }
    const name = JSON.stringify(this.#listKey)
    if (list.flags !== semaphoreFlags) {
      throw new MusterError(
        'conflict',
        `the key ${name} is in use, and not by a semaphore: give the -n of the others, or another prefix`,
      )
    }
    const value = parseJson(list.value.toString('utf8'), `the value of ${name}`)
    const limit = isObject(value) ? value['Limit'] : null
    const listed = isObject(value) ? value['Holders'] : null
    if (typeof limit !== 'number' || (listed !== null && !isObject(listed))) {
      throw new MusterError('conflict', `the value of ${name} is no list of a semaphore's holders`)
    }
    if (limit !== this.#options.holdersMax) {
      throw new MusterError(
        'conflict',
        `the semaphore has ${limit} places, not ${this.#options.holdersMax}: give the -n of the others`,
      )
    }
    const alive = new Set(entries.filter(({ key }) => key !== this.#listKey).map((e) => e.session))
    alive.delete('')
    const holders = Object.keys(listed ?? {}).filter((session) => alive.has(session))
    return { holders, index: list.modifyIndex }
  }
}

export function semaphoreListKey(prefix: string): string {
  return `${prefix}/.lock`
}
