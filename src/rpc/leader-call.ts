/** A call that the leader runs: one record for as long as it lasts. */
import type { CallTrace } from './call-options.ts'
import type { ForwardedCall } from './forward.ts'
import type { MethodRunner, MethodRunnerOptions } from './method-runner.ts'
import type { AnyLeaderMethod, Caller } from './method.ts'
import { replay } from './replay.ts'
import type { AppliedParts } from './sent-writes.ts'
import type { WriteOptions } from './write.ts'

export class LeaderCall implements ForwardedCall {
  readonly args: unknown
  readonly caller: Caller
  readonly deadlineMs: number
  readonly signal: AbortSignal
  readonly trace: CallTrace | null
  readonly #options: Omit<MethodRunnerOptions, 'writer'>
  readonly #runner: MethodRunner
  readonly #method: AnyLeaderMethod
  readonly #lingerMs: number

  constructor(
    options: Omit<MethodRunnerOptions, 'writer'>,
    runner: MethodRunner,
    method: AnyLeaderMethod,
    args: unknown,
    caller: Caller,
    deadlineMs: number,
    signal: AbortSignal,
    trace: CallTrace | null,
    lingerMs: number,
  ) {
    this.args = args
    this.caller = caller
    this.deadlineMs = deadlineMs
    this.signal = signal
    this.trace = trace
    this.#options = options
    this.#runner = runner
    this.#method = method
    this.#lingerMs = lingerMs
  }

  get method(): string {
    return this.#method.name
  }

  get repeatable(): boolean {
    return this.#method.repeatable === true
  }

  here(): Promise<unknown> {
    // An entry of this server's own tells it later what became of it, also when another leads.
    const write: WriteOptions = { lingerMs: this.#lingerMs }
    const { args, caller, signal, deadlineMs } = this
    return this.#runner.run(this.#method, args, caller, signal, deadlineMs, write)
  }

  replay(parts: AppliedParts): Promise<unknown> {
    const { args, caller, signal } = this
    return replay(this.#options, { method: this.#method, args, caller, signal, parts })
  }
}
