/** A steady writer: small writes one after another, with a note of every gap between two accepted ones. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Variables } from './variables.ts'

export type Accepted = { readonly path: string; readonly value: string; readonly index: number }

/** A hundred a second show every gap; as fast as it goes they would be most of the work of their tests. */
const pauseMs = 8

export class SteadyWriter {
  readonly #variables: readonly Variables[]
  readonly #prefix: string
  readonly #running: Promise<void>
  #stopping = false
  #gapsFromMs = performance.now()
  #longestGapMs = 0
  readonly accepted: Accepted[] = []
  /** Writes that were refused or not answered. */
  failed = 0

  /** Asks the given servers in turn, going on to the next only after a failure. */
  constructor(variables: readonly Variables[], prefix: string) {
    this.#variables = variables
    this.#prefix = prefix
    this.#running = this.#run()
  }

  /** The longest time without an accepted write since the last call; starts anew. */
  takeLongestGapMs(): number {
    const longest = Math.max(this.#longestGapMs, performance.now() - this.#gapsFromMs)
    this.#longestGapMs = 0
    this.#gapsFromMs = performance.now()
    return longest
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await this.#running
  }

  async #run(): Promise<void> {
    let server = 0
    for (let turn = 0; !this.#stopping; turn += 1) {
      const path = `${this.#prefix}/${turn}`
      const value = `value ${turn}`
      const outcome = await this.#variables[server % this.#variables.length]?.put(path, value)
      if (outcome?.type === 'ok') {
        const nowMs = performance.now()
        this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - this.#gapsFromMs)
        this.#gapsFromMs = nowMs
        this.accepted.push({ path, value, index: outcome.index ?? 0 })
      } else {
        this.failed += 1
        server += 1
      }
      await delay(pauseMs)
    }
  }
}
