/**
 * What the caller of an open stream may do, looked up again and again for as long as the stream is open: a token may be
 * revoked, come to its end, or be given other policies.
 */
import type { Clock, Timer } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { Authorizer, Permissions } from './authorizer.ts'
import type { Caller, LeastRight, Requirement } from './method.ts'
import { mustMay } from './refusal.ts'

/** A stream that nobody looks at is ended this long after its caller lost the right to it. */
export const renewMs = 500

export type StreamGuardOptions = {
  readonly authorizer: Authorizer
  readonly caller: Caller
  /** Of the method that the stream is of. */
  readonly requirement: Requirement
  readonly missing?: string | undefined
  readonly clock: Clock
  /** Once at most: the caller may not have the stream any more. */
  readonly onLost: (refusal: MusterError) => void
}

export class StreamGuard implements Permissions {
  /** Of the token, which stays the same. */
  readonly accessor?: string
  readonly #options: StreamGuardOptions
  #permissions: Permissions
  #timer: Timer | null = null
  #over = false

  private constructor(options: StreamGuardOptions, permissions: Permissions) {
    this.#options = options
    this.#permissions = permissions
    if (permissions.accessor !== undefined) this.accessor = permissions.accessor
  }

  /** Rejects when the caller may not. Nothing goes on until `start`. */
  static async open(options: StreamGuardOptions): Promise<StreamGuard> {
    return new StreamGuard(options, await resolve(options))
  }

  may(requirement: Requirement): boolean {
    return this.#permissions.may(requirement)
  }

  maySome(right: LeastRight): boolean {
    return this.#permissions.maySome?.(right) ?? true
  }

  missing(requirement: Requirement): string {
    return this.#permissions.missing?.(requirement) ?? ''
  }

  start(): void {
    this.#next()
  }

  stop(): void {
    this.#over = true
    this.#timer?.cancel()
  }

  /** `may` speaks of the state as it is now, or a later one. Rejects when the caller may not have the stream any more. */
  async renew(): Promise<void> {
    this.#permissions = await resolve(this.#options)
  }

  #next(): void {
    if (this.#over) return
    this.#timer = this.#options.clock.setTimer(renewMs, () => {
      void this.renew().then(
        () => this.#next(),
        (error: unknown) => this.#lose(error),
      )
    })
  }

  #lose(error: unknown): void {
    if (this.#over) return
    this.stop()
    const refusal =
      error instanceof MusterError ? error : new MusterError('internal', textOf(error))
    this.#options.onLost(refusal)
  }
}

async function resolve(options: StreamGuardOptions): Promise<Permissions> {
  const permissions = await options.authorizer.resolve(options.caller)
  mustMay(permissions, options.requirement, options.missing)
  return permissions
}
