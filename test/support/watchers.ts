/**
 * Very many clients that wait for changes of one thing, each on a connection of its own, as cheap as they can be:
 * answers are counted and thrown away. Each asks again with the index it was given, until it is stopped.
 */
import { connect, type Socket } from 'node:net'
import type { HttpClient } from './http-client.ts'

/** Of one transaction. */
const operationsMax = 64

/** Keys below `prefix/`, of 24 bytes each. */
export async function fillPrefix(http: HttpClient, prefix: string, keys: number): Promise<void> {
  const value = Buffer.alloc(24, 'v').toString('base64')
  for (let first = 0; first < keys; first += operationsMax) {
    const count = Math.min(operationsMax, keys - first)
    const operations = Array.from({ length: count }, (_, more) => ({
      KV: { Verb: 'set', Key: `${prefix}/${first + more}`, Value: value },
    }))
    const reply = await http.request('PUT', '/v1/txn', { body: JSON.stringify(operations) })
    if (reply.status !== 200) throw new Error(`PUT /v1/txn: ${reply.status}`)
  }
}

/** Writes a key and returns the index of that. */
export async function writeKey(http: HttpClient, key: string, value: string): Promise<number> {
  const timeoutMs = 30_000
  const put = await http.request('PUT', `/v1/kv/${key}`, { body: value, timeoutMs })
  if (put.status !== 200) throw new Error(`PUT of ${key}: ${put.status}`)
  const seen = await http.request('GET', `/v1/kv/${key}`, { timeoutMs })
  return Number(seen.headers['x-service-index'])
}

export type WatchersOptions = {
  readonly port: number
  readonly count: number
  /** With a query string; the index comes behind it. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Connections begun at a time. */
  readonly atOnce?: number
}

/** After a refusal. */
const retryMs = 200

/** All share it: what comes is looked at and forgotten. */
const received = Buffer.alloc(262_144)

type Answered = (watcher: Watcher, status: number, indexBefore: number) => void

class Watcher {
  readonly #socket: Socket
  readonly #ask: (index: number) => string
  readonly #answered: Answered
  index = 0
  #head = ''
  /** Bytes of the body that are missing; null: it ends with an empty chunk. */
  #missing: number | null = 0
  #tail = ''
  #inBody = false

  constructor(options: WatchersOptions, ask: (index: number) => string, answered: Answered) {
    this.#ask = ask
    this.#answered = answered
    this.#socket = connect({
      host: '127.0.0.1',
      port: options.port,
      onread: {
        buffer: received,
        callback: (length) => {
          this.#read(length)
          return true
        },
      },
    })
    this.#socket.setNoDelay(true)
    this.#socket.on('error', () => this.#socket.destroy())
    this.#socket.on('close', () => answered(this, 0, this.index))
    this.#socket.on('connect', () => this.ask())
  }

  ask(): void {
    this.#socket.write(this.#ask(this.index))
  }

  stop(): void {
    this.#socket.removeAllListeners('close')
    this.#socket.destroy()
  }

  #read(length: number): void {
    if (this.#inBody) {
      this.#body(0, length)
      return
    }
    this.#head += received.toString('latin1', 0, length)
    const end = this.#head.indexOf('\r\n\r\n')
    if (end < 0) return
    const behind = this.#head.length - end - 4
    const head = this.#head.slice(0, end)
    this.#head = head
    this.#inBody = true
    this.#tail = ''
    const declared = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    this.#missing = declared === undefined ? null : Number(declared)
    this.#body(length - behind, length)
  }

  #body(from: number, to: number): void {
    if (this.#missing === null) {
      this.#tail = (this.#tail + received.toString('latin1', Math.max(from, to - 5), to)).slice(-5)
      if (this.#tail === '0\r\n\r\n') this.#done()
      return
    }
    this.#missing -= to - from
    if (this.#missing <= 0) this.#done()
  }

  #done(): void {
    const head = this.#head
    this.#head = ''
    this.#inBody = false
    const status = Number(head.slice(9, 12))
    const index = /\r\nx-service-index: (\d+)/i.exec(head)?.[1]
    const before = this.index
    if (status === 200 && index !== undefined) this.index = Number(index)
    this.#answered(this, status, before)
  }
}

export class Watchers {
  readonly #all: Watcher[] = []
  readonly #options: WatchersOptions
  #waiting: { readonly index: number; missing: number; readonly resolve: () => void }[] = []
  #stopped = false
  /** Whole answers, by status; 0: the connection broke. */
  readonly statuses = new Map<number, number>()

  constructor(options: WatchersOptions) {
    this.#options = options
  }

  /** Resolves when all were answered once; then all of them wait. */
  async start(): Promise<void> {
    const { count, atOnce = 50, path, headers = {} } = this.#options
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const ask = (index: number): string =>
      `GET ${path}&index=${index} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n`
    for (let begun = 0; begun < count; begun += atOnce) {
      for (let more = 0; more < atOnce && begun + more < count; more += 1) {
        this.#all.push(new Watcher(this.#options, ask, this.#answered.bind(this)))
      }
      await this.reached(1)
    }
  }

  get answers(): number {
    return this.statuses.get(200) ?? 0
  }

  /** Resolves once every one of them was told this index or a later one. */
  reached(index: number): Promise<void> {
    if (!(index > 0)) throw new RangeError(`no index: ${index}`)
    const missing = this.#all.filter((watcher) => watcher.index < index).length
    if (missing === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ index, missing, resolve }))
  }

  stop(): void {
    this.#stopped = true
    for (const watcher of this.#all) watcher.stop()
  }

  #answered(watcher: Watcher, status: number, before: number): void {
    if (this.#stopped) return
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    if (status === 200) watcher.ask()
    else if (status !== 0) setTimeout(() => this.#stopped || watcher.ask(), retryMs)
    if (watcher.index === before || this.#waiting.length === 0) return
    for (const one of this.#waiting) {
      if (before < one.index && watcher.index >= one.index) one.missing -= 1
      if (one.missing === 0) one.resolve()
    }
    this.#waiting = this.#waiting.filter(({ missing }) => missing > 0)
  }
}
