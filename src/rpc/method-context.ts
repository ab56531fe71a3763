/** What a method sees of the server while it runs there. */
import type { Given, Proposable, Reader } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import { signalOf, type AbortSource } from '../lib/lazy-abort.ts'
import type { Logger } from '../lib/log.ts'
import { caughtUp } from './admission.ts'
import { maySeeSome, type Permissions } from './authorizer.ts'
import type { Consensus, Proposed } from './consensus.ts'
import type {
  Caller,
  LeaderContext,
  LeastRight,
  LocalContext,
  Requirement,
  StreamContext,
  MadeUntil,
} from './method.ts'
import type { Services } from './services.ts'
import type { ReadableState, RecordingView } from './state.ts'
import type { StreamGuard } from './stream-guard.ts'
import type { Proposer, WriteOptions } from './write.ts'

export type MethodContextOptions = {
  readonly clock: Clock
  readonly log: Logger
  /** Null: a process without state. */
  readonly state: ReadableState | null
  readonly services: Services
}

export type StreamContextOptions = MethodContextOptions & {
  /** Null: a process without state. */
  readonly consensus: Pick<Consensus, 'readBarrier'> | null
}

/** Of what proposes nothing. */
export const noWrite: WriteOptions = { deadlineMs: 0 }
/** Until it is known what the caller may do. */
export const nobody: Permissions = { may: () => false }

/** Of a process without state. */
export function onlyServers(): MusterError {
  return new MusterError('not_implemented', 'a client agent has no state: servers are asked for it')
}

/** What a method is handed while it runs. Views it opened are closed behind it. */
export class MethodContext implements LeaderContext, LocalContext {
  readonly caller: Caller
  readonly clock: Clock
  readonly log: Logger
  readonly #state: ReadableState | null
  readonly #services: Services
  readonly #writer: Proposer
  readonly #abort: AbortSource
  readonly #write: WriteOptions
  #permissions: Permissions
  #views: RecordingView[] | null = null
  #proposed = false

  constructor(
    options: MethodContextOptions,
    writer: Proposer,
    permissions: Permissions,
    caller: Caller,
    abort: AbortSource,
    write: WriteOptions,
  ) {
    this.caller = caller
    this.clock = options.clock
    this.log = options.log
    this.#state = options.state
    this.#services = options.services
    this.#writer = writer
    this.#permissions = permissions
    this.#abort = abort
    this.#write = write
  }

  /** From now on. */
  grant(permissions: Permissions): void {
    this.#permissions = permissions
  }

  get signal(): AbortSignal {
    return signalOf(this.#abort)
  }

  get accessor(): string | null {
    return this.#permissions.accessor ?? null
  }

  get madeUntil(): MadeUntil | null {
    return this.#permissions.madeUntil ?? null
  }

  get tookEffect(): boolean {
    return this.#writer.tookEffect === true
  }

  may(requirement: Requirement): boolean {
    return this.#permissions.may(requirement)
  }

  maySeeSome(rights: readonly LeastRight[]): boolean {
    return maySeeSome(this.#permissions, rights)
  }

  missing(requirement: Requirement): string {
    return this.#permissions.missing?.(requirement) ?? ''
  }

  get service(): Services['get'] {
    return this.#services.get
  }

  read(): Reader {
    if (this.#state === null) throw onlyServers()
    const view = this.#state.view(false)
    this.#views ??= []
    this.#views.push(view)
    return view
  }

  async propose<Args, Outcome>(
    { type }: Proposable<Args, Outcome>,
    args: Given<NoInfer<Args>>,
  ): Promise<Proposed<Outcome>> {
    // What was read before a write is over by then; kept open, every write would make the store keep old rows.
    this.close()
    const proposed = await this.#writer.propose({ type, args }, this.#write)
    this.#proposed = true
    // See `typedPropose`.
    return proposed as Proposed<Outcome>
  }

  /** "Nothing was appended" is no longer true of the whole method after its first command. */
  judge(error: unknown): unknown {
    const code = codeOf(error)
    const saysNothingDone = code === 'not_leader' || code === 'unavailable' || code === 'overloaded'
    if (!this.#proposed || !saysNothingDone) return error
    return new MusterError(
      'outcome_unknown',
      `a part of the request took effect, then: ${textOf(error)}`,
      { cause: error },
    )
  }

  close(): void {
    if (this.#views === null) return
    for (const view of this.#views) view.close()
    this.#views = null
  }
}

/** As above, for as long as a stream is open: what the caller may do is kept up to date. */
export class StreamMethodContext extends MethodContext implements StreamContext {
  readonly #guard: StreamGuard
  readonly #consensus: StreamContextOptions['consensus']

  constructor(
    options: StreamContextOptions,
    writer: Proposer,
    guard: StreamGuard,
    { caller, signal }: Pick<LocalContext, 'caller' | 'signal'>,
  ) {
    super(options, writer, guard, caller, signal, noWrite)
    this.#guard = guard
    this.#consensus = options.consensus
  }

  renewPermissions(): Promise<void> {
    return this.#guard.renew()
  }

  async freshenPermissions(): Promise<void> {
    await caughtUp(this.#consensus, this.clock)
    await this.#guard.renew()
  }
}
