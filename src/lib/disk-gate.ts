/**
 * A disk that is full or read-only: how it is detected, and which callers are told.
 *
 * Such a disk refuses a write before it takes it, and all that was durable stays so: the write is tried again until it
 * goes through. Any other failure is not met here: above all one of a sync, after which the kernel may show pages that it
 * will never write, so that no second try can be believed.
 */
import { delay } from './async.ts'
import type { Clock } from './clock.ts'
import { MusterError, textOf } from './errors.ts'
import type { Logger } from './log.ts'

/** Between two attempts at a write that was refused. */
export const retryRefusedMs = 500

const refusalCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])
/** LevelDB hands on the system's words and not its codes. */
const refusalWords = /no space left on device|quota exceeded|read-only file system/i
/** How deep an error's causes are looked into. */
const causesMax = 8

/** Whether the disk refused: it is full, a quota is used up, or it is read-only. */
export function isRefusal(error: unknown): boolean {
  let at = error
  for (let depth = 0; depth < causesMax && at instanceof Error; depth += 1) {
    const code: unknown = 'code' in at ? at.code : undefined
    if (refusalCodes.has(code)) return true
    if (code === 'LEVEL_IO_ERROR' && refusalWords.test(at.message)) return true
    at = at.cause
  }
  return false
}

/** What a client is told of a write that the disk refused; any other error as it is. `of`: who alone can do what was asked. */
export function refusalAsUnavailable(error: unknown, of: 'server' | 'agent' = 'server'): unknown {
  if (!isRefusal(error)) return error
  const orElse = of === 'server' ? ', or ask another server' : ''
  const text = `the disk of this ${of} takes no writes (${textOf(error)}): make room there${orElse}`
  return new MusterError('unavailable', text, { cause: error })
}

/** Whose writes: those of the log, those of the state that is made from it, or the first ones of a start; or the folder of the log itself. */
export type DiskPart = 'log' | 'state' | 'start' | 'folder'

export class DiskGate {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #refusing = new Map<DiskPart, { readonly sinceMs: number }>()
  readonly #listeners = new Set<() => void>()
  readonly #closing = new AbortController()

  constructor(options: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = options.clock
    this.#logger = options.logger
  }

  /** A write is waiting for the disk to take it. */
  get refusing(): boolean {
    return this.#refusing.size > 0
  }

  /** Called when `refusing` changed. Returns the way to stop listening. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Call it when `attempt` failed with `error`: tries again until the disk takes it. Rejects with `error` itself when that is no
   * refusal, with what a later attempt failed of otherwise, and with `unavailable` once the gate is closed.
   */
  async outlast<T>(part: DiskPart, error: unknown, attempt: () => Promise<T>): Promise<T> {
    if (!isRefusal(error)) throw error
    for (let refusal = error; ;) {
      this.#refused(part, refusal)
      await this.#pause(refusal)
      try {
        const result = await attempt()
        this.#accepted(part)
        return result
      } catch (next) {
        if (!isRefusal(next)) throw next
        refusal = next
      }
    }
  }

  /** As while a write of this part is refused, until `release`. */
  hold(part: DiskPart): void {
    if (this.#refusing.has(part)) return
    const before = this.refusing
    this.#refusing.set(part, { sinceMs: this.#clock.monotonicMs() })
    if (!before) this.#announce()
  }

  release(part: DiskPart): void {
    if (this.#refusing.delete(part) && !this.refusing) this.#announce()
  }

  /** Resolves once nothing holds this part. Rejects with `unavailable` once the gate is closed. */
  async released(part: DiskPart): Promise<void> {
    while (this.#refusing.has(part)) await this.#pause()
  }

  /** No write is waited for any more. */
  close(): void {
    this.#closing.abort()
    this.#listeners.clear()
  }

  async #pause(cause?: unknown): Promise<void> {
    await delay(this.#clock, retryRefusedMs, this.#closing.signal)
    if (!this.#closing.signal.aborted) return
    const text = 'this server stopped while its disk took no writes'
    throw new MusterError('unavailable', text, { cause })
  }

  #refused(part: DiskPart, error: unknown): void {
    if (this.#refusing.has(part)) return
    this.#logger.error('the disk refuses a write; it is tried again until it is taken', {
      part,
      reason: textOf(error),
    })
    this.hold(part)
  }

  #accepted(part: DiskPart): void {
    const refused = this.#refusing.get(part)
    if (refused === undefined) return
    const forMs = Math.round(this.#clock.monotonicMs() - refused.sinceMs)
    this.#logger.info('the disk took the write that it had refused', { part, forMs })
    this.release(part)
  }

  #announce(): void {
    for (const listener of this.#listeners) listener()
  }
}
