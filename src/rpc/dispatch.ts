/**
 * Whatever a server is asked comes through here: arguments checked, then run where the method belongs (a query where it
 * arrives, a write at the leader, a local one here), authorized on the state of the server that runs it, and one audit
 * line at the end.
 */
import { MusterError } from '../lib/errors.ts'
import { QueryReader } from './read.ts'
import type { QueryAnswer } from './query.ts'
import { mustMay } from './refusal.ts'
import { admitLater } from './admission.ts'
import { hasOneOf } from './authorizer.ts'
import type { CallOptions, QueryOptions } from './call-options.ts'
import { AskedQuery, Calls } from './calls.ts'
import {
  defaultDispatchLimits,
  type DispatcherOptions,
  type DispatchLimits,
} from './dispatch-options.ts'
import { Forwarder } from './forward.ts'
import { endable } from './stream-lifetime.ts'
import type { CallRequest } from './link.ts'
import { MethodContext, StreamMethodContext } from './method-context.ts'
import type {
  AnyLeaderMethod,
  AnyLocalMethod,
  AnyStreamMethod,
  Caller,
  LeastRight,
  ReadOptions,
} from './method.ts'
import { Placement } from './placement.ts'
import { Places, placeTaker } from './places.ts'
import { replay } from './replay.ts'
import { buildRegistry, findMethod, type Registry } from './registry.ts'
import type { Services } from './services.ts'
import { StreamGuard } from './stream-guard.ts'
import type { AppliedParts } from './sent-writes.ts'
import { Writer, type WriteOptions } from './write.ts'

/** What replies tell about this server's view of the cluster. */
export type Contact = { readonly knownLeader: boolean; readonly lastContactMs: number }

type LeaderRun = {
  readonly deadlineMs: number
  readonly signal: AbortSignal
  readonly write: WriteOptions
}

const never = new AbortController().signal
const fromClient = { forwarded: false, blocking: false }
const fromServer = { forwarded: true, blocking: false }

export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #limits: DispatchLimits
  readonly #registry: Registry
  readonly #reader: QueryReader
  readonly #writer: Writer
  readonly #forwarder: Forwarder
  readonly #placement: Placement
  readonly #streams = new Set<AbortController>()
  readonly #places: Places
  readonly #calls: Calls
  #draining = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#limits = { ...defaultDispatchLimits, ...options.limits }
    this.#registry = buildRegistry(options.methods)
    this.#calls = new Calls(options)
    const { consensus, state, authorizer, services, clock, link, encode, sent = null } = options
    const { noLeaderMs, parkedMax, streamsMax } = this.#limits
    this.#places = new Places({ max: streamsMax, limit: 'the maximum of open streams' })
    const { room = null, crowded = () => {} } = options
    const waiting = { noLeaderMs, parkedMax, room, crowded }
    this.#reader = new QueryReader({ consensus, state, authorizer, services, clock, ...waiting })
    this.#writer = new Writer({ consensus, encode, clock })
    this.#forwarder = new Forwarder({ consensus, link, sent, clock, noLeaderMs })
    this.#placement = new Placement({ consensus, servers: options.servers, clock, noLeaderMs })
  }

  /** Runs a query here. The answer's `close` is called by whoever asked, after the last use of its value. */
  query(
    name: string,
    args: unknown,
    caller: Caller,
    read: ReadOptions,
    options: QueryOptions = {},
  ): Promise<QueryAnswer> {
    try {
      const { method, check } = findMethod(this.#registry, name)
      if (method.kind !== 'query') {
        throw new MusterError('invalid_argument', `${name} is not a query`)
      }
      const { deadlineMs, signal = never, shape = null } = options
      const call = new AskedQuery(this.#calls, {
        method,
        args,
        caller,
        options: read,
        deadlineMs: deadlineMs ?? this.#latestMs(),
        signal,
        shape,
      })
      try {
        check(args)
      } catch (error) {
        call.ended(error)
        throw error
      }
      return this.#reader.run(call)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Runs a leader method at the leader, wherever it is, or a local method at the server that `at` names. */
  async call(
    name: string,
    args: unknown,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<unknown> {
    const { method, check } = findMethod(this.#registry, name)
    if (method.kind === 'query' || method.kind === 'stream') {
      throw new MusterError('invalid_argument', `${name} is a ${method.kind}: ask it as one`)
    }
    return await this.#calls.run(name, caller, fromClient, () => {
      check(args)
      const { deadlineMs, signal } = this.#bounds(options)
      if (method.kind === 'local') return this.#callLocal(method, args, caller, options)
      // An entry of this server's own tells it later what became of it, also when another leads.
      const write = { lingerMs: this.#limits.noLeaderMs }
      const here = () => this.#runAtLeader(method, args, caller, { deadlineMs, signal, write })
      const again = (parts: AppliedParts) =>
        replay(this.#options, { method, args, caller, signal, parts })
      return this.#forwarder.run({
        method: name,
        args,
        caller,
        deadlineMs,
        signal,
        here,
        replay: method.repeatable === true ? again : null,
        trace: options.trace ?? null,
      })
    })
  }

  /**
   * Opens a stream at the server that `at` names, this one by default. Rejects when the method refuses; then the items
   * come until the stream ends, fails, `signal` fires or this server drains. Whoever has the iterator reads it to its
   * end or calls its `return`. The deadline bounds the opening alone.
   */
  async open(
    name: string,
    args: unknown,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<AsyncIterableIterator<unknown>> {
    const { method, check } = findMethod(this.#registry, name)
    if (method.kind !== 'stream') {
      throw new MusterError('invalid_argument', `${name} is no stream: it is a ${method.kind}`)
    }
    return this.#calls.run(name, caller, fromClient, async () => {
      check(args)
      const { deadlineMs, signal } = this.#bounds(options)
      const target = await this.#placement.find(options.at ?? null, deadlineMs, signal)
      if (target === null) return this.#openHere(method, args, caller, signal)
      const request = this.#requestOf(name, args, caller, deadlineMs)
      if (options.trace !== undefined) options.trace.forwarded = true
      return this.#owned(signal, (both) => this.#options.link.stream(target, request, both))
    })
  }

  /** The receiving side of a stream that another server asks for: it runs here. */
  readonly handleStream = async (
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterable<unknown>> => {
    const { args, token, remote, requestId } = request
    const caller: Caller = { token, remote, requestId }
    const { method, check } = findMethod(this.#registry, request.method)
    if (method.kind !== 'stream') {
      throw new MusterError(
        'invalid_argument',
        `${method.name} is no stream: it is a ${method.kind}`,
      )
    }
    return this.#calls.run(method.name, caller, fromServer, async () => {
      check(args)
      return this.#openHere(method, args, caller, signal)
    })
  }

  /**
   * Rejects for a caller that has none of these rights to anything; null: it has one, as is known at once. Asked before
   * its request is read whole, on the state of this server, or on a newer one before it is refused.
   */
  admit(caller: Caller, rights: readonly LeastRight[]): Promise<void> | null {
    const permissions = this.#options.authorizer.resolve(caller)
    if (!(permissions instanceof Promise) && hasOneOf(permissions, rights)) return null
    return admitLater(this.#options, permissions, caller, rights)
  }

  /**
   * The receiving side of a forwarded call: runs here or not at all, so a request takes one hop at most.
   * A leader method on a server that does not lead is `not_leader`; the sender looks again.
   */
  readonly handleForwarded = async (
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<unknown> => {
    const { args, token, remote, requestId } = request
    const caller: Caller = { token, remote, requestId }
    const { method, check } = findMethod(this.#registry, request.method)
    if (method.kind === 'query' || method.kind === 'stream') {
      throw new MusterError(
        'invalid_argument',
        `${method.name} is a ${method.kind} and is not forwarded as a call`,
      )
    }
    return this.#calls.run(method.name, caller, fromServer, async () => {
      check(args)
      if (method.kind === 'local') return this.#runLocal(method, args, caller, signal)
      const timeoutMs = Math.min(Math.max(0, request.timeoutMs), this.#limits.forwardedMsMax)
      const deadlineMs = this.#options.clock.monotonicMs() + timeoutMs
      const settling = this.#forwarder.settled(deadlineMs, signal)
      if (settling !== null) await settling
      if (!this.#options.consensus.isLeader()) {
        throw new MusterError('not_leader', 'this server does not lead the cluster')
      }
      const { write = {} } = request
      return this.#runAtLeader(method, args, caller, { deadlineMs, signal, write })
    })
  }

  /** Of this process, for routes. */
  get services(): Services {
    return this.#options.services
  }

  contact(): Contact {
    const { consensus } = this.#options
    return {
      knownLeader: consensus.leader() !== null,
      lastContactMs: Math.max(0, Math.floor(consensus.lastContactMs())),
    }
  }

  /** Calls that arrived and have not ended, parked queries among them; of streams those that are being opened. */
  get underWayCount(): number {
    return this.#calls.underWayCount
  }

  get parkedCount(): number {
    return this.#reader.parkedCount
  }

  /** What found no place here, by what it wanted one for. */
  get refused(): { readonly blockingQueries: number; readonly streams: number } {
    return { blockingQueries: this.#reader.refusedCount, streams: this.#places.refusedCount }
  }

  /** See `QueryReader.catchUp`. Started with the server, ended by `signal`. */
  catchUp(signal: AbortSignal): Promise<void> {
    return this.#reader.catchUp(signal)
  }

  /** Answers all blocking queries with what there is, lets none wait any more, and ends all streams: the server is about to stop. */
  drain(): void {
    this.#draining = true
    for (const stream of this.#streams) stream.abort(stopping())
    this.#reader.drain()
  }

  #bounds(options: CallOptions): { readonly deadlineMs: number; readonly signal: AbortSignal } {
    return {
      deadlineMs: options.deadlineMs ?? this.#latestMs(),
      signal: options.signal ?? never,
    }
  }

  #latestMs(): number {
    return this.#options.clock.monotonicMs() + this.#limits.callMs
  }

  #requestOf(method: string, args: unknown, caller: Caller, deadlineMs: number): CallRequest {
    const timeoutMs = Math.max(1, Math.floor(deadlineMs - this.#options.clock.monotonicMs()))
    return { method, args, ...caller, timeoutMs }
  }

  async #openHere(
    method: AnyStreamMethod,
    args: unknown,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterableIterator<unknown>> {
    const { authorizer, clock } = this.#options
    const stop = new AbortController()
    const guard = await StreamGuard.open({
      authorizer,
      caller,
      requirement: method.requires(args as never, this.#options.services.get),
      missing: method.missing,
      clock,
      onLost: (refusal) => stop.abort(refusal),
    })
    let context: StreamMethodContext | null = null
    let leave: (() => void) | null = null
    const open = (both: AbortSignal) => {
      context = new StreamMethodContext(this.#options, this.#writer, guard, {
        caller,
        signal: both,
      })
      leave = this.#places.take(placeTaker(caller, guard))
      guard.start()
      return method.open(context, args as never)
    }
    return this.#owned(signal, open, {
      stop,
      close: () => {
        guard.stop()
        context?.close()
        leave?.()
      },
    })
  }

  /** Counts a stream, and ends it when this server drains. */
  #owned(
    signal: AbortSignal,
    open: (signal: AbortSignal) => AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>,
    { stop, close }: { readonly stop: AbortController; readonly close?: () => void } = {
      stop: new AbortController(),
    },
  ): Promise<AsyncIterableIterator<unknown>> {
    const { streamsMax } = this.#limits
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

  async #callLocal(
    method: AnyLocalMethod,
    args: unknown,
    caller: Caller,
    options: CallOptions,
  ): Promise<unknown> {
    const { deadlineMs, signal } = this.#bounds(options)
    const target = await this.#placement.find(options.at ?? null, deadlineMs, signal)
    if (target === null) return this.#runLocal(method, args, caller, signal)
    const request = this.#requestOf(method.name, args, caller, deadlineMs)
    if (options.trace !== undefined) options.trace.forwarded = true
    return this.#options.link.call(target, request, signal)
  }

  async #runLocal(
    method: AnyLocalMethod,
    args: unknown,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<unknown> {
    const permissions = await this.#options.authorizer.resolve(caller)
    mustMay(permissions, method.requires(args as never, this.#options.services.get), method.missing)
    const context = new MethodContext(this.#options, this.#writer, permissions, caller, signal, 0)
    try {
      return await method.run(context, args as never)
    } finally {
      context.close()
    }
  }

  async #runAtLeader(
    method: AnyLeaderMethod,
    args: unknown,
    caller: Caller,
    { deadlineMs, signal, write }: LeaderRun,
  ): Promise<unknown> {
    const resolved = this.#options.authorizer.resolve(caller)
    const permissions = resolved instanceof Promise ? await resolved : resolved
    mustMay(permissions, method.requires(args as never, this.#options.services.get), method.missing)
    const context = new MethodContext(
      this.#options,
      this.#writer,
      permissions,
      caller,
      signal,
      deadlineMs,
      write,
    )
    try {
      return await method.run(context, args as never)
    } catch (error) {
      throw context.judge(error)
    } finally {
      context.close()
    }
  }
}

function stopping(): MusterError {
  return new MusterError('unavailable', 'this server stops')
}
