/** Keys and values as locks need them: read with an index to wait on, locked, changed only as they were read. */
import { integerOf, listOf, objectOf, textOf } from '../api/answer.ts'
import { escapePath, type Ask, type Search } from '../api/client.ts'
import type { Json, JsonObject } from '../../lib/exact-json.ts'
import type { Servers } from '../api/servers.ts'

/** How long a read waits for a change. A server that is gone is noticed by it too. */
const waitMs = 10_000
/** What a server adds to a wait, and the time to answer. */
const waitSlackMs = waitMs / 16 + 2_000
const attemptMsMax = 5_000
/** With every digit. */
type Index = string

export type Entry = {
  readonly key: string
  /** Empty when no session holds it. */
  readonly session: string
  readonly lockIndex: Index
  readonly flags: bigint
  readonly value: Buffer
  readonly modifyIndex: Index
}

export type Seen<Value> = { readonly value: Value; readonly index: Index }

/** A lock that a write depends on. */
export type Fence = { readonly key: string; readonly lockIndex: Index }

export class Entries {
  readonly #servers: Servers
  readonly #namespace: string | null

  constructor(servers: Servers, namespace: string | null) {
    this.#servers = servers
    this.#namespace = namespace
  }

  /** With `after`, waits a while for something newer than that index. */
  async read(key: string, signal: AbortSignal, after?: Index): Promise<Seen<Entry | null>> {
    const { value, index } = await this.#read(key, {}, signal, after)
    return { value: value[0] ?? null, index }
  }

  /** All whose names begin with `prefix`. */
  list(prefix: string, signal: AbortSignal, after?: Index): Promise<Seen<readonly Entry[]>> {
    return this.#read(prefix, { recurse: '' }, signal, after)
  }

  /** False: another session holds it, or a lock delay is running. The holder may ask again. */
  lock(key: string, session: string, flags: bigint, signal: AbortSignal): Promise<boolean> {
    return this.#write('PUT', key, { acquire: session, flags: String(flags) }, signal)
  }

  /** Whether the session held it and let it go. */
  unlock(key: string, session: string, flags: bigint, signal: AbortSignal): Promise<boolean> {
    return this.#write('PUT', key, { release: session, flags: String(flags) }, signal)
  }

  /**
   * Writes what was read at that index ('0': not there). False: it has changed since, or `fence` is not held any more. One
   * attempt: whether a write whose answer was lost took place, only reading tells.
   */
  async replace(
    key: string,
    index: Index,
    content: { readonly value: string; readonly flags: bigint; readonly fence: Fence },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { value, flags, fence } = content
    const { status, json } = await this.#servers.attempt('PUT', pathOf(key), {
      ...this.#ask(signal, {
        cas: index,
        flags: String(flags),
        lock: fence.key,
        lock_index: fence.lockIndex,
      }),
      bytes: Buffer.from(value),
      also: [409],
    })
    return status === 200 && json === true
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    await this.#write('DELETE', key, {}, signal)
  }

  /** Only as it was read. */
  async deleteAt(key: string, index: Index, signal: AbortSignal): Promise<boolean> {
    return this.#write('DELETE', key, { cas: index }, signal)
  }

  async #write(method: string, key: string, search: Search, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#servers.ask(method, pathOf(key), this.#ask(signal, search))
    return answer.json === true
  }

  async #read(
    key: string,
    search: Search,
    signal: AbortSignal,
    after: Index | undefined,
  ): Promise<Seen<readonly Entry[]>> {
    const blocking = after === undefined ? {} : { index: after, wait: `${waitMs}ms` }
    const { status, json, headers } = await this.#servers.attempt('GET', pathOf(key), {
      ...this.#ask(signal, { ...search, ...blocking }),
      timeoutMs: after === undefined ? attemptMsMax : waitMs + waitSlackMs,
      also: [404],
    })
    const index = headers['x-service-index']
    return {
      value: status === 404 ? [] : listOf(json).map(entryOf),
      index: typeof index === 'string' ? index : '0',
    }
  }

  #ask(signal: AbortSignal, search: Search = {}): Ask & { readonly signal: AbortSignal } {
    return {
      search: { ...search, namespace: this.#namespace },
      timeoutMs: attemptMsMax,
      signal,
    }
  }
}

function pathOf(key: string): string {
  return `/v1/kv/${escapePath(key)}`
}

function entryOf(json: Json): Entry {
  const entry: JsonObject = objectOf(json)
  const value = entry['Value']
  return {
    key: textOf(entry, 'Key'),
    session: 'Session' in entry ? textOf(entry, 'Session') : '',
    lockIndex: integerOf(entry, 'LockIndex'),
    flags: BigInt(integerOf(entry, 'Flags')),
    value: Buffer.from(typeof value === 'string' ? value : '', 'base64'),
    modifyIndex: integerOf(entry, 'ModifyIndex'),
  }
}
