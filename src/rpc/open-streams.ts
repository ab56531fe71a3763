/** The streams that this process has open: at most so many, shared between callers, all of them ended when it drains. */
import { MusterError } from '../lib/errors.ts'
import type { Authorizer } from './authorizer.ts'
import { endable } from './stream-lifetime.ts'
import { StreamMethodContext, type StreamContextOptions } from './method-context.ts'
import type { AnyStreamMethod, Caller } from './method.ts'
import { Places, placeTaker } from './places.ts'
import { StreamGuard } from './stream-guard.ts'
import type { Proposer } from './write.ts'

export type OpenStreamsOptions = StreamContextOptions & {
  readonly authorizer: Authorizer
  readonly writer: Proposer
  readonly streamsMax: number
}

export class OpenStreams {
  readonly #options: OpenStreamsOptions
  readonly #streams = new Set<AbortController>()
  readonly #places: Places
  #draining = false

  constructor(options: OpenStreamsOptions) {
    this.#options = options
    this.#places = new Places({ max: options.streamsMax, limit: 'the maximum of open streams' })
  }

  /** Callers that found no place. */
  get refusedCount(): number {
    return this.#places.refusedCount
  }

  drain(): void {
    this.#draining = true
    for (const stream of this.#streams) stream.abort(stopping())
  }

  /** Runs a method of this process. */
  async run(
    method: AnyStreamMethod,
    args: unknown,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterableIterator<unknown>> {
    method.check(args)
    const { authorizer, clock, services, writer } = this.#options
    const stop = new AbortController()
    const guard = await StreamGuard.open({
      authorizer,
      caller,
      requirement: method.requires(args as never, services.get),
      missing: method.missing,
      clock,
      onLost: (refusal) => stop.abort(refusal),
    })
    let context: StreamMethodContext | null = null
    let leave: (() => void) | null = null
    const open = (both: AbortSignal) => {
      context = new StreamMethodContext(this.#options, writer, guard, { caller, signal: both })
      leave = this.#places.take(placeTaker(caller, guard))
      guard.start()
      return method.open(context, args as never)
    }
    return this.own(signal, open, {
      stop,
      close: () => {
        guard.stop()
        context?.close()
        leave?.()
      },
    })
  }

  /** Counts a stream from wherever it comes, and ends it when this process drains. */
  own(
    signal: AbortSignal,
    open: (signal: AbortSignal) => AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>,
    { stop, close }: { readonly stop: AbortController; readonly close?: () => void } = {
      stop: new AbortController(),
    },
  ): Promise<AsyncIterableIterator<unknown>> {
    const { streamsMax } = this.#options
    if (this.#draining) throw stopping()
    if (this.#streams.size >= streamsMax) {
      throw new MusterError('overloaded', `${streamsMax} streams are open here, try later`)
    }
    this.#streams.add(stop)
    const onEnd = (): void => {
      this.#streams.delete(stop)
      close?.()
    }
    return endable({ open, signal, stop, onEnd })
  }
}

function stopping(): MusterError {
  return new MusterError('unavailable', 'this server stops')
}
