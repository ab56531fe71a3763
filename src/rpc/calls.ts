/** Calls that arrived here, from when they came until they are over: counted, told to the audit log, their failures logged. */
import type { Clock } from '../lib/clock.ts'
import { codeOf, textOf, type ErrorCode } from '../lib/errors.ts'
import type { Abortable } from '../lib/lazy-abort.ts'
import type { Logger } from '../lib/log.ts'
import { stackTraceOf } from '../lib/stack-trace.ts'
import type { AnyQuery, Caller, ReadOptions } from './method.ts'
import type { QueryCall } from './query.ts'

export type AuditLine = {
  readonly method: string
  readonly requestId: string
  readonly remote: string
  readonly outcome: 'ok' | ErrorCode
  /** Came from another server. */
  readonly forwarded: boolean
  /** A query that was to wait for a change. */
  readonly blocking: boolean
  readonly durationMs: number
}

export type CallsOptions = {
  readonly clock: Clock
  readonly log: Logger
  /** Called once per call that arrived here, at its end. Must not throw. */
  readonly audit?: (line: AuditLine) => void
}

export type CallKind = Pick<AuditLine, 'forwarded' | 'blocking'>

export const fromClient: CallKind = { forwarded: false, blocking: false }
export const fromServer: CallKind = { forwarded: true, blocking: false }

export class Calls {
  readonly #options: CallsOptions
  #underWay = 0

  constructor(options: CallsOptions) {
    this.#options = options
  }

  get underWayCount(): number {
    return this.#underWay
  }

  /** Returns what `end` wants: when it began, monotonic ms. */
  begin(): number {
    this.#underWay += 1
    return this.#options.clock.monotonicMs()
  }

  /** `error`: null for a call that went well. */
  end(method: string, caller: Caller, kind: CallKind, startMs: number, error: unknown): void {
    this.#underWay -= 1
    const { audit, clock } = this.#options
    const outcome = error === null ? 'ok' : codeOf(error)
    if (error !== null) this.#log(method, caller, codeOf(error), error)
    if (audit === undefined) return
    const { requestId, remote } = caller
    const durationMs = clock.monotonicMs() - startMs
    audit({ method, requestId, remote, outcome, ...kind, durationMs })
  }

  /** `run` gets when the call began, monotonic ms. */
  async run<T>(
    method: string,
    caller: Caller,
    kind: CallKind,
    run: (startMs: number) => Promise<T>,
  ): Promise<T> {
    const startMs = this.begin()
    let failure: unknown = null
    try {
      return await run(startMs)
    } catch (error) {
      failure = error ?? new Error('a method failed with nothing')
      throw error
    } finally {
      this.end(method, caller, kind, startMs, failure)
    }
  }

  #log(method: string, caller: Caller, code: ErrorCode, error: unknown): void {
    const { log } = this.#options
    const { requestId, remote } = caller
    if (code === 'internal') {
      const stack = stackTraceOf(error)
      log.error('a method failed', { method, requestId, error: textOf(error), stack })
    } else if (code === 'permission_denied' || code === 'unauthenticated') {
      log.debug('a request was refused', { method, requestId, remote, code })
    }
  }
}

/** A query that arrived: one record, for as long as it lasts. */
export class AskedQuery implements QueryCall {
  readonly method: AnyQuery
  args: unknown
  readonly caller: Caller
  readonly options: ReadOptions
  readonly deadlineMs: number
  readonly signal: Abortable
  shape: string | null
  readonly #calls: Calls
  readonly #startMs: number

  /** `startMs`: what `calls.begin` returned. */
  constructor(calls: Calls, startMs: number, asked: Omit<QueryCall, 'ended'>) {
    this.method = asked.method
    this.args = asked.args
    this.caller = asked.caller
    this.options = asked.options
    this.deadlineMs = asked.deadlineMs
    this.signal = asked.signal
    this.shape = asked.shape
    this.#calls = calls
    this.#startMs = startMs
  }

  ended(error: unknown): void {
    const { method, caller, options } = this
    const kind = options.minIndex > 0 ? waiting : fromClient
    this.#calls.end(method.name, caller, kind, this.#startMs, error)
  }
}

const waiting: CallKind = { forwarded: false, blocking: true }
