/** What a command beside a task reads: a bounded amount waits for it. */
import type { Writable } from 'node:stream'
import { firstOf, nothing } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'

/** Input that the command has not read. */
const inputBytesMax = 256 * 1_024

export class CommandInput {
  readonly #to: Writable
  readonly #clock: Clock

  /** Its errors are heard by who made it. */
  constructor(to: Writable, clock: Clock) {
    this.#to = to
    this.#clock = clock
  }

  /** False: the command has too much to read already, and nothing was taken. What ended takes all. */
  write(data: Uint8Array): boolean {
    const to = this.#to
    if (to.destroyed || to.writableEnded) return true
    if (to.writableLength > inputBytesMax) return false
    to.write(data)
    return true
  }

  /** Resolves when there may be room again, the command is over, or `ms` have passed. */
  room(ms: number): Promise<void> {
    const to = this.#to
    if (to.destroyed || !to.writableNeedDrain) return Promise.resolve()
    const listen = (found: () => void) => {
      to.once('drain', found)
      to.once('close', found)
      return () => {
        to.off('drain', found)
        to.off('close', found)
      }
    }
    return firstOf({ clock: this.#clock, ms, listen, timeout: nothing })
  }

  end(): void {
    this.#to.end()
  }
}
