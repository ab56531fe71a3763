/**
 * What clients of the other servers see while a leader fails: probes that each have a connection of their own, and
 * clients that were connected before and send their next write when the last one was answered.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { askOnce, Connection } from '../bench/connection.ts'
import { httpRequest } from '../bench/system.ts'

/** At one server, then at the next. */
const probeEveryMs = 5
const pauseMs = 5
/** A probe that waits longer makes room for a later one. */
const probeTimeoutMs = 10_000
const keys = 100

export type Gaps = {
  /** The longest time in which no probe was accepted. */
  readonly probesMs: number
  /** The longest time in which one of the connected clients had no write accepted. */
  readonly connectedMs: number
  /** Answers other than 200 that connected clients got. */
  readonly failed: number
}

/** Times of accepted writes. */
type Accepted = number[]

export class Clients {
  readonly #ended = new AbortController()
  readonly #probes: Accepted = []
  readonly #connected: Accepted[] = []
  readonly #running: Promise<void>[]
  #failed = 0
  #sent = 0

  constructor(ports: readonly number[]) {
    this.#running = [this.#probeAll(ports), ...ports.map((port) => this.#writeOn(port))]
  }

  get writes(): number {
    return this.#probes.length
  }

  /** Whether each connected client had a write accepted after that. */
  wroteSince(fromMs: number): boolean {
    return this.#connected.every((times) => (times.at(-1) ?? 0) > fromMs)
  }

  /** The gaps since `fromMs`, up to now. The clients are gone when this resolves. */
  async end(fromMs: number): Promise<Gaps> {
    const toMs = performance.now()
    this.#ended.abort()
    await Promise.all(this.#running)
    return {
      probesMs: longestGap(this.#probes, fromMs, toMs),
      connectedMs: Math.max(...this.#connected.map((times) => longestGap(times, fromMs, toMs))),
      failed: this.#failed,
    }
  }

  async #probeAll(ports: readonly number[]): Promise<void> {
    const { signal } = this.#ended
    for (let turn = 0; !signal.aborted; turn += 1) {
      const port = ports[turn % ports.length] ?? 0
      const bounds = { timeoutMs: probeTimeoutMs, signal }
      void askOnce(port, this.#nextWrite(), bounds).then((status) => {
        if (status === 200) this.#probes.push(performance.now())
      })
      await delay(probeEveryMs)
    }
  }

  async #writeOn(port: number): Promise<void> {
    const { signal } = this.#ended
    const accepted: Accepted = []
    this.#connected.push(accepted)
    let connection = new Connection(port, signal)
    while (!signal.aborted) {
      const status = await connection.ask(this.#nextWrite(), 0)
      if (status === 200) accepted.push(performance.now())
      else if (!signal.aborted) {
        this.#failed += 1
        connection.close()
        connection = new Connection(port, signal)
      }
      await delay(pauseMs)
    }
    connection.close()
  }

  #nextWrite(): string {
    this.#sent += 1
    return httpRequest('PUT', `/v1/kv/failover/${this.#sent % keys}`, 'value')
  }
}

function longestGap(times: Accepted, fromMs: number, toMs: number): number {
  let longest = 0
  let last = fromMs
  for (const at of [...times.filter((at) => at > fromMs), toMs].toSorted((a, b) => a - b)) {
    longest = Math.max(longest, at - last)
    last = at
  }
  return longest
}
