/**
 * Whatever a server is asked comes through here: run where the method belongs (a query where it arrives, a write at the
 * leader, a local one at the server that the client names), and one audit line at the end. What runs on this server does so
 * in `read.ts`, `method-runner.ts` and `open-streams.ts`. The server that runs a method checks its arguments, once, and
 * authorizes it on its own state; one that forwards a call does neither.
 */
import type { Static, TSchema } from 'typebox'
import type { Timer } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import { signalOf } from '../lib/lazy-abort.ts'
import { admitLater } from './admission.ts'
import { checkedItems } from './agent-answers.ts'
import { agentCalls, agentLink, clusterServers, type AgentLink } from './agents.ts'
import type { AgentIdentity } from './agent-identity.ts'
import { askEach } from './ask-each.ts'
import { askLeader } from './ask-leader.ts'
import { hasOneOf } from './authorizer.ts'
import type { CallOptions, QueryOptions } from './call-options.ts'
import { AskedQuery, Calls, fromClient, fromServer } from './calls.ts'
import type { Contact, Dispatcher } from './dispatch.ts'
import { Forwarder } from './forward.ts'
import { LeaderCall, type LeaderCallOptions } from './leader-call.ts'
import type { CallHandler, CallRequest } from './link.ts'
import { MethodRunner } from './method-runner.ts'
import type {
  AnyLeaderMethod,
  AnyLocalMethod,
  AnyQuery,
  AnyStreamMethod,
  Caller,
  LeastRight,
  LocalContext,
  PeerMethod,
  ReadOptions,
} from './method.ts'
import { OpenStreams } from './open-streams.ts'
import { Placement } from './placement.ts'
import type { QueryAnswer } from './query.ts'
import { QueryReader } from './read.ts'
import { buildRegistry, findMethod, type Registry } from './registry.ts'
import {
  defaultDispatchLimits,
  type DispatchLimits,
  type ServerDispatcherOptions,
} from './server-dispatcher-options.ts'
import type { ServerInfo } from './servers.ts'
import type { Services } from './services.ts'
import { Writer } from './write.ts'

const never = new AbortController().signal
/** After a method was first forwarded, the check of its arguments is compiled: later than its answer is written. */
const compileAfterMs = 100

export class ServerDispatcher implements Dispatcher {
  readonly #options: ServerDispatcherOptions
  readonly #limits: DispatchLimits
  readonly #registry: Registry
  readonly #calls: Calls
  readonly #reader: QueryReader
  readonly #runner: MethodRunner
  readonly #leading: LeaderCallOptions
  readonly #streams: OpenStreams
  readonly #forwarder: Forwarder
  readonly #placement: Placement
  /** Names of methods that were forwarded from here. */
  readonly #forwarded = new Set<string>()
  readonly #compiling = new Set<Timer>()
  #isDraining = false

  constructor(options: ServerDispatcherOptions) {
    this.#options = options
    this.#limits = { ...defaultDispatchLimits, ...options.limits }
    this.#registry = buildRegistry(options.methods)
    this.#calls = new Calls(options)
    const { consensus, state, authorizer, services, clock, link, encode, sent = null } = options
    const { noLeaderMs, parkedMax, streamsMax } = this.#limits
    const { room = null, crowded = () => {} } = options
    const waiting = { noLeaderMs, parkedMax, room, crowded }
    this.#reader = new QueryReader({ consensus, state, authorizer, services, clock, ...waiting })
    const here = { ...options, writer: new Writer({ consensus, encode, clock }) }
    this.#runner = new MethodRunner(here)
    this.#leading = { ...here, runner: this.#runner }
    this.#streams = new OpenStreams({ ...here, streamsMax })
    this.#forwarder = new Forwarder({ consensus, link, sent, clock, noLeaderMs })
    this.#placement = new Placement({ consensus, servers: options.servers, clock, noLeaderMs })
    services.provide(askLeader, (from, method, args) => this.#askLeader(from, method, args))
    services.provide(agentCalls, (agent) => this.#handleAgent(agent))
    services.provide(clusterServers, {
      leader: () => consensus.leader(),
      all: () => options.servers.all(),
      askOthers: (method, args, timeoutMs) => askEach(options, method, args, timeoutMs),
    })
  }

  get services(): Services {
    return this.#options.services
  }

  query(
    method: AnyQuery,
    args: unknown,
    caller: Caller,
    read: ReadOptions,
    options: QueryOptions = {},
  ): Promise<QueryAnswer> {
    const startMs = this.#calls.begin()
    const { deadlineMs = startMs + this.#limits.callMs, signal = never, shape = null } = options
    const asked = { method, args, caller, options: read, deadlineMs, signal, shape }
    const call = new AskedQuery(this.#calls, startMs, asked)
    try {
      method.check(args)
    } catch (error) {
      call.ended(error)
      return Promise.reject(error)
    }
    return this.#reader.run(call)
  }

  call(
    method: AnyLeaderMethod | AnyLocalMethod,
    args: unknown,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<unknown> {
    if (method.kind === 'leader') return this.#callLeader(method, args, caller, options)
    const run = () => this.#callLocal(method, args, caller, options)
    return this.#calls.run(method.name, caller, fromClient, run)
  }

  /** All writes come through here: no object, closure or promise is made that one of them can do without. */
  async #callLeader(
    method: AnyLeaderMethod,
    args: unknown,
    caller: Caller,
    options: CallOptions,
  ): Promise<unknown> {
    const { consensus } = this.#options
    const { callMs, noLeaderMs } = this.#limits
    const startMs = this.#calls.begin()
    let failure: unknown = null
    try {
      const { deadlineMs = startMs + callMs, signal = never, trace = null } = options
      const here = this.#leading
      const lingerMs = noLeaderMs
      const call = new LeaderCall(here, method, args, caller, signal, deadlineMs, lingerMs, trace)
      let result: unknown
      if (consensus.isLeader()) {
        try {
          result = await call.here()
        } catch (error) {
          result = await this.#forwarder.run(call, error)
        }
      } else {
        result = await this.#forwarder.run(call)
        if (!consensus.isLeader()) this.#prepareToLead(method, args)
      }
      if (method.endsTokens === true) await this.#seen(deadlineMs, call.signal)
      return result
    } catch (error) {
      failure = error ?? new Error('a method failed with nothing')
      throw error
    } finally {
      this.#calls.end(method.name, caller, fromClient, startMs, failure)
    }
  }

  open(
    method: AnyStreamMethod,
    args: unknown,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<AsyncIterableIterator<unknown>> {
    return this.#calls.run(method.name, caller, fromClient, async () => {
      const { deadlineMs = this.#latestMs(), node = null } = options
      const signal = signalOf(options.signal ?? never)
      const target = await this.#targetOf(options, deadlineMs, signal)
      if (target === null && node === null) return this.#streams.run(method, args, caller, signal)
      const request = this.#requestOf(method.name, args, caller, deadlineMs, node)
      if (options.trace !== undefined) options.trace.forwarded = true
      const items = await this.#streams.own(signal, (both) =>
        target === null
          ? this.#agents.stream(request.node ?? '', request, both)
          : this.#options.link.stream(target, request, both),
      )
      return node === null ? items : checkedItems(items, method)
    })
  }

  /** The receiving side of a stream that another server asks for: it runs here. */
  readonly handleStream = async (
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterable<unknown>> => {
    const { args, node } = request
    const caller = callerOf(request)
    if (node !== undefined) {
      return this.#streams.own(signal, (both) => this.#agents.stream(node, request, both))
    }
    const method = findMethod(this.#registry, request.method)
    if (method.kind !== 'stream') {
      throw new MusterError(
        'invalid_argument',
        `${method.name} is no stream: it is a ${method.kind}`,
      )
    }
    return this.#calls.run(method.name, caller, fromServer, () =>
      this.#streams.run(method, args, caller, signal),
    )
  }

  /**
   * The receiving side of a call: runs here or not at all, so a request takes one hop at most.
   * A leader method on a server that does not lead is `not_leader`; the sender looks again.
   */
  readonly handleForwarded = async (
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<unknown> => {
    const { args, node } = request
    const caller = callerOf(request)
    if (node !== undefined) return this.#agents.call(node, request, signal)
    const method = findMethod(this.#registry, request.method)
    if (method.kind === 'query' || method.kind === 'stream' || method.kind === 'agent') {
      throw new MusterError(
        'invalid_argument',
        `${method.name} is a ${method.kind} and is not forwarded as a call`,
      )
    }
    return this.#calls.run(method.name, caller, fromServer, async (startMs) => {
      if (method.kind === 'local') return this.#runner.run(method, args, caller, signal)
      const timeoutMs = Math.min(Math.max(0, request.timeoutMs), this.#limits.forwardedMsMax)
      const deadlineMs = startMs + timeoutMs
      if (method.kind === 'leader' || method.at === 'leader') {
        const settling = this.#forwarder.settled(deadlineMs, signal)
        if (settling !== null) await settling
        if (!this.#options.consensus.isLeader()) {
          throw new MusterError('not_leader', 'this server does not lead the cluster')
        }
      }
      if (method.kind === 'peer') {
        return this.#runner.forPeer(method, args, caller, signal, deadlineMs)
      }
      const write = { ...request.write, deadlineMs }
      return this.#runner.run(method, args, caller, signal, write)
    })
  }

  /** The receiving side of an uplink: what an agent asks runs here. */
  #handleAgent(agent: AgentIdentity): CallHandler {
    return (request, signal) => {
      const method = findMethod(this.#registry, request.method)
      if (method.kind !== 'agent') {
        throw new MusterError('permission_denied', `${method.name} is not for agents to ask`)
      }
      const caller: Caller = { ...callerOf(request), token: null }
      return this.#calls.run(method.name, caller, fromServer, () =>
        this.#runner.forAgent(method, request.args, agent, caller, signal),
      )
    }
  }

  settle(caller: Caller): Promise<unknown> | null {
    return this.#options.authorizer.settle?.(caller) ?? null
  }

  admit(caller: Caller, rights: readonly LeastRight[]): Promise<void> | null {
    const permissions = this.#options.authorizer.resolve(caller)
    if (!(permissions instanceof Promise) && hasOneOf(permissions, rights)) return null
    return admitLater(this.#options, permissions, caller, rights)
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
  get refused(): { readonly blocking_queries: number; readonly streams: number } {
    return { blocking_queries: this.#reader.refusedCount, streams: this.#streams.refusedCount }
  }

  /** See `QueryReader.catchUp`. Started with the server, ended by `signal`. */
  catchUp(signal: AbortSignal): Promise<void> {
    return this.#reader.catchUp(signal)
  }

  drain(): void {
    this.#isDraining = true
    for (const timer of this.#compiling) timer.cancel()
    this.#compiling.clear()
    this.#streams.drain()
    this.#reader.drain()
  }

  async #askLeader<Args extends TSchema, Reply extends TSchema>(
    { caller: from, signal }: Pick<LocalContext, 'caller' | 'signal'>,
    method: PeerMethod<Args, Reply>,
    args: Static<Args>,
  ): Promise<Static<Reply>> {
    const caller: Caller = { ...from, token: null }
    const deadlineMs = this.#latestMs()
    const reply = await this.#forwarder.run({
      method: method.name,
      args,
      caller,
      deadlineMs,
      signal,
      repeatable: false,
      here: () => this.#runner.forPeer(method, args, caller, signal, deadlineMs),
    })
    method.checkReply(reply)
    return reply
  }

  /**
   * What this server forwards it is asked to run itself once it leads. The first check of a method's arguments is compiled, in
   * 3 to 10 ms, for which all that waited for the new leader would wait.
   */
  #prepareToLead(method: AnyLeaderMethod, args: unknown): void {
    if (this.#forwarded.has(method.name) || this.#isDraining) return
    this.#forwarded.add(method.name)
    const timer = this.#options.clock.setTimer(compileAfterMs, () => {
      this.#compiling.delete(timer)
      try {
        method.check(args)
      } catch {
        // The server that ran it judged them.
      }
    })
    this.#compiling.add(timer)
  }

  /** What the leader has done is in this server's state. It is done also where that cannot be learnt. */
  async #seen(deadlineMs: number, signal: AbortSignal): Promise<void> {
    const { consensus, clock } = this.#options
    if (consensus.isFresh('leader')) return
    const latestMs = Math.min(deadlineMs, clock.monotonicMs() + this.#limits.noLeaderMs)
    await consensus.readBarrier('leader', latestMs, signal).catch(() => undefined)
  }

  #latestMs(): number {
    return this.#options.clock.monotonicMs() + this.#limits.callMs
  }

  get #agents(): AgentLink {
    return this.services.get(agentLink)
  }

  /** Null: this server, or the agent whose uplink it holds. */
  #targetOf(
    { at = null, node = null }: CallOptions,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<ServerInfo | null> {
    if (node === null) return this.#placement.find(at, deadlineMs, signal)
    return this.#agents.holderOf(node, signal)
  }

  #requestOf(
    method: string,
    args: unknown,
    caller: Caller,
    deadlineMs: number,
    node: string | null,
  ): CallRequest {
    const timeoutMs = Math.max(1, Math.floor(deadlineMs - this.#options.clock.monotonicMs()))
    const request = { method, args, ...caller, use: caller.use === true, timeoutMs }
    return node === null ? request : { ...request, node }
  }

  async #callLocal(
    method: AnyLocalMethod,
    args: unknown,
    caller: Caller,
    options: CallOptions,
  ): Promise<unknown> {
    const { deadlineMs = this.#latestMs(), node = null, trace } = options
    const signal = signalOf(options.signal ?? never)
    const target = await this.#targetOf(options, deadlineMs, signal)
    if (target === null && node === null) return this.#runner.run(method, args, caller, signal)
    const request = this.#requestOf(method.name, args, caller, deadlineMs, node)
    if (trace !== undefined) trace.forwarded = true
    const answer = await (target === null
      ? this.#agents.call(request.node ?? '', request, signal)
      : this.#options.link.call(target, request, signal))
    if (node !== null) method.checkAnswer(answer)
    return answer
  }
}

function callerOf({ token, remote, requestId, use }: CallRequest): Caller {
  return use === true ? { token, remote, requestId, use } : { token, remote, requestId }
}
