/** A call that the leader runs: one record for as long as it lasts, and the context of the method where it runs here. */
import type { AbortSource } from '../lib/lazy-abort.ts'
import type { CallTrace } from './call-options.ts'
import type { ForwardedCall } from './forward.ts'
import { MethodContext, nobody } from './method-context.ts'
import type { MethodRunner, MethodRunnerOptions } from './method-runner.ts'
import type { AnyLeaderMethod, Caller } from './method.ts'
import { replay } from './replay.ts'
import type { AppliedParts } from './sent-writes.ts'

export type LeaderCallOptions = MethodRunnerOptions & { readonly runner: MethodRunner }

export class LeaderCall extends MethodContext implements ForwardedCall {
  readonly args: unknown
  readonly deadlineMs: number
  readonly trace: CallTrace | null
  readonly #options: LeaderCallOptions
  readonly #method: AnyLeaderMethod

  /** `lingerMs`: an entry of this server's own tells it for so long what became of it, also when another leads. */
  constructor(
    options: LeaderCallOptions,
    method: AnyLeaderMethod,
    args: unknown,
    caller: Caller,
    abort: AbortSource,
    deadlineMs: number,
    lingerMs: number,
    trace: CallTrace | null,
  ) {
    super(options, options.writer, nobody, caller, abort, { deadlineMs, lingerMs })
    this.args = args
    this.deadlineMs = deadlineMs
    this.trace = trace
    this.#options = options
    this.#method = method
  }

  get method(): string {
    return this.#method.name
  }

  get repeatable(): boolean {
    return this.#method.repeatable === true
  }

  here(): Promise<unknown> {
    return this.#options.runner.within(this, this.#method, this.args)
  }

  replay(parts: AppliedParts): Promise<unknown> {
    const { args, caller, signal } = this
    return replay(this.#options, { method: this.#method, args, caller, signal, parts })
  }
}
