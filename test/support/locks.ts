/** Sessions, locks and fenced writes of a cluster under faults: asked of one server after another until one answers. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Servers } from './servers.ts'
import type { Reply } from './http-client.ts'

const attemptMs = 2_000
const pauseMs = 50

export class Locks {
  readonly #cluster: Servers
  readonly #signal: AbortSignal
  #at: number

  /** `at`: the server that is asked first. Once `signal` fires, nothing is tried again. */
  constructor(cluster: Servers, at: number, signal: AbortSignal) {
    this.#cluster = cluster
    this.#at = at
    this.#signal = signal
  }

  /** Its id. A try whose answer was lost may leave a session that nobody knows; it ends by itself. */
  async create(fields: object): Promise<string> {
    const reply = await this.#ask('PUT', '/v1/session/create', JSON.stringify(fields))
    return (JSON.parse(reply.body.toString()) as { ID: string }).ID
  }

  /** When the renewal that was acknowledged was sent, and when that was known; null when the session is gone. */
  async renew(id: string): Promise<{ readonly sentMs: number; readonly knownMs: number } | null> {
    let sentMs = 0
    const reply = await this.#ask('PUT', `/v1/session/renew/${id}`, '', () => {
      sentMs = performance.now()
    })
    return reply.status === 404 ? null : { sentMs, knownMs: performance.now() }
  }

  async isAlive(id: string): Promise<boolean> {
    const reply = await this.#ask('GET', `/v1/session/info/${id}?consistent`)
    return (JSON.parse(reply.body.toString()) as unknown[]).length > 0
  }

  async destroy(id: string): Promise<void> {
    await this.#ask('PUT', `/v1/session/destroy/${id}`, '')
  }

  /** Its LockIndex once it is held by the session; null when it is not to be had now. */
  async acquire(key: string, session: string): Promise<number | null> {
    const operation = { Verb: 'lock', Key: key, Session: session }
    const reply = await this.#ask('PUT', '/v1/txn', JSON.stringify([{ KV: operation }]))
    if (reply.status === 409) return null
    const { Results } = JSON.parse(reply.body.toString()) as {
      Results: { KV: { LockIndex: number } }[]
    }
    return Results[0]?.KV.LockIndex ?? null
  }

  async release(key: string, session: string): Promise<void> {
    await this.#ask('PUT', `/v1/kv/${key}?release=${session}`, '')
  }

  /** Whether the write took place, which it does only while `lock` is held with `lockIndex`. */
  async write(
    key: string,
    value: string,
    lock: string,
    lockIndex: number,
  ): Promise<'written' | 'refused'> {
    const path = `/v1/kv/${key}?lock=${lock}&lock_index=${lockIndex}`
    const reply = await this.#ask('PUT', path, value)
    return reply.status === 409 ? 'refused' : 'written'
  }

  async read(key: string): Promise<string | null> {
    const reply = await this.#ask('GET', `/v1/kv/${key}?raw&consistent`)
    return reply.status === 404 ? null : reply.body.toString()
  }

  async #ask(method: string, path: string, body?: string, sending?: () => void): Promise<Reply> {
    for (;;) {
      sending?.()
      const reply = await this.#cluster
        .http(this.#at)
        .request(method, path, {
          timeoutMs: attemptMs,
          ...(body === undefined ? {} : { body }),
        })
        .catch(() => null)
      if (reply !== null && [200, 404, 409].includes(reply.status)) return reply
      if (reply !== null && reply.status === 400) {
        throw new Error(`${method} ${path}: ${reply.body.toString()}`)
      }
      if (this.#signal.aborted) throw new Error(`${method} ${path}: the test is over`)
      this.#at = (this.#at + 1) % this.#cluster.size
      await delay(pauseMs)
    }
  }
}
