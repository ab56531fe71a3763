/** Tells of servers that a client agent refuses, without flooding the log: they are met again with every request. */
import type { Clock } from '../lib/clock.ts'
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { hostPort, type HttpAddress } from '../lib/host-port.ts'
import { UntrustedServer } from './server-trust.ts'

/** Between two lines about one server and reason. */
const againMs = 60_000
/** Servers and reasons remembered; beyond it the oldest is forgotten, for anyone may gossip as many. */
export const rememberedMax = 256

export class UntrustedLog {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #toldMs = new Map<string, number>()

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock
    this.#log = log
  }

  /** Any other error is no news. */
  add({ host, port }: HttpAddress, error: unknown): void {
    if (!(error instanceof Error) || !(error.cause instanceof UntrustedServer)) return
    const server = hostPort(host, port)
    const reason = textOf(error.cause)
    const key = `${server} ${reason}`
    const nowMs = this.#clock.monotonicMs()
    const toldMs = this.#toldMs.get(key)
    if (toldMs !== undefined && nowMs - toldMs < againMs) return
    this.#toldMs.delete(key)
    this.#toldMs.set(key, nowMs)
    if (this.#toldMs.size > rememberedMax) {
      const oldest = this.#toldMs.keys().next()
      if (oldest.done !== true) this.#toldMs.delete(oldest.value)
    }
    this.#log.warn('refused a member that gossips as a server, and sent it nothing', {
      server,
      reason,
    })
  }
}
