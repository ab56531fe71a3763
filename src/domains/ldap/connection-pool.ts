/** Connections of one kind to one directory, which are lent to logins and kept for a while between them. */
import type { Clock, Timer } from '../../lib/clock.ts'
import type { DirectoryConnection } from './connection.ts'

/** Connections that nothing is asked on. */
export const idleConnectionsMax = 128
/** How long one is kept so, at least; twice as long at most. */
export const idleMs = 60_000

export type Pooled = {
  readonly connection: DirectoryConnection
  /** How many it is lent to. */
  lent: number
  /** Monotonic; when it came back last. */
  usedMs: number
}

export class ConnectionPool {
  readonly #clock: Clock
  readonly #lentMax: number
  /** Those that may be lent: the first with room is, so that the last ones become idle. */
  #pooled: Pooled[] = []
  #timer: Timer | null = null
  #closed = false

  /** A connection is lent to at most `lentMax` at a time. */
  constructor(clock: Clock, lentMax: number) {
    this.#clock = clock
    this.#lentMax = lentMax
  }

  get idleCount(): number {
    return this.#pooled.filter(({ lent }) => lent === 0).length
  }

  /** null: none has room. The caller gives it back. */
  take(): Pooled | null {
    for (const pooled of this.#pooled) {
      if (pooled.lent >= this.#lentMax || !pooled.connection.isOpen) continue
      pooled.lent += 1
      return pooled
    }
    return null
  }

  /** A new one, which is lent to the caller. */
  add(connection: DirectoryConnection): Pooled {
    const pooled = { connection, lent: 1, usedMs: 0 }
    if (!this.#closed) this.#pooled.push(pooled)
    return pooled
  }

  giveBack(pooled: Pooled): void {
    pooled.lent -= 1
    pooled.usedMs = this.#clock.monotonicMs()
    if (!pooled.connection.isOpen) this.#pooled = this.#pooled.filter((other) => other !== pooled)
    if (pooled.lent > 0) return
    const isKept = !this.#closed && pooled.connection.isOpen && this.idleCount <= idleConnectionsMax
    if (isKept) {
      this.#timer ??= this.#clock.setTimer(idleMs, () => this.#sweep())
      return
    }
    this.#pooled = this.#pooled.filter((other) => other !== pooled)
    pooled.connection.close()
  }

  /** Closes what waits; what is lent is closed when it comes back. */
  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    this.#timer = null
    for (const { lent, connection } of this.#pooled) if (lent === 0) connection.close()
    this.#pooled = []
  }

  #sweep(): void {
    this.#timer = null
    const before = this.#clock.monotonicMs() - idleMs
    const isOld = ({ lent, usedMs }: Pooled): boolean => lent === 0 && usedMs <= before
    const old = this.#pooled.filter(isOld)
    this.#pooled = this.#pooled.filter((pooled) => !isOld(pooled))
    for (const { connection } of old) connection.close()
    if (this.#pooled.length > 0) this.#timer = this.#clock.setTimer(idleMs, () => this.#sweep())
  }
}
