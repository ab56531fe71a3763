/** The dispatcher of a process without state, which runs its local methods and streams and nothing else. */
import { MusterError } from '../lib/errors.ts'
import { signalOf } from '../lib/lazy-abort.ts'
import { admitLater } from './admission.ts'
import { hasOneOf, type Authorizer } from './authorizer.ts'
import type { CallOptions } from './call-options.ts'
import { Calls, fromClient, fromServer, type CallsOptions } from './calls.ts'
import type { Contact, Dispatcher } from './dispatch.ts'
import type { CallRequest } from './link.ts'
import type {
  AnyLeaderMethod,
  AnyLocalMethod,
  AnyStreamMethod,
  Caller,
  LeastRight,
  Method,
} from './method.ts'
import { onlyServers } from './method-context.ts'
import { MethodRunner } from './method-runner.ts'
import { OpenStreams } from './open-streams.ts'
import { unknownServer } from './placement.ts'
import { buildRegistry, findMethod, type Registry } from './registry.ts'
import type { QueryAnswer } from './query.ts'
import { leaderWord } from './servers.ts'
import type { Services } from './services.ts'

export type LocalDispatcherOptions = CallsOptions & {
  /** That servers may ask over the uplink, for clients of theirs. */
  readonly methods: readonly Method[]
  readonly services: Services
  readonly authorizer: Authorizer
  /** Streams that are open here. Default: as a server's. */
  readonly streamsMax?: number
}

const streamsMaxDefault = 4_096
const never = new AbortController().signal
const noWriter = { propose: () => Promise.reject(onlyServers()) }

export class LocalDispatcher implements Dispatcher {
  readonly services: Services
  readonly #options: LocalDispatcherOptions
  readonly #calls: Calls
  readonly #runner: MethodRunner
  readonly #streams: OpenStreams
  readonly #registry: Registry

  constructor(options: LocalDispatcherOptions) {
    const { services, streamsMax = streamsMaxDefault } = options
    this.services = services
    this.#options = options
    this.#calls = new Calls(options)
    this.#registry = buildRegistry(options.methods)
    const here = { ...options, state: null, consensus: null, writer: noWriter }
    this.#runner = new MethodRunner(here)
    this.#streams = new OpenStreams({ ...here, streamsMax })
  }

  query(): Promise<QueryAnswer> {
    return Promise.reject(onlyServers())
  }

  call(
    method: AnyLeaderMethod | AnyLocalMethod,
    args: unknown,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<unknown> {
    return this.#calls.run(method.name, caller, fromClient, async () => {
      if (method.kind === 'leader') throw onlyServers()
      here(options)
      return this.#runner.run(method, args, caller, signalOf(options.signal ?? never))
    })
  }

  open(
    method: AnyStreamMethod,
    args: unknown,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<AsyncIterableIterator<unknown>> {
    return this.#calls.run(method.name, caller, fromClient, async () => {
      here(options)
      return this.#streams.run(method, args, caller, signalOf(options.signal ?? never))
    })
  }

  /** What a server asks for one of its clients, whose rights are looked up as if it had asked here. */
  readonly handleCall = async (request: CallRequest, signal: AbortSignal): Promise<unknown> => {
    const { args, caller } = askedBy(request)
    const method = findMethod(this.#registry, request.method)
    if (method.kind !== 'local') throw notHere(method)
    return this.#calls.run(method.name, caller, fromServer, () =>
      this.#runner.run(method, args, caller, signal),
    )
  }

  /** The same of a stream. */
  readonly handleStream = async (
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterable<unknown>> => {
    const { args, caller } = askedBy(request)
    const method = findMethod(this.#registry, request.method)
    if (method.kind !== 'stream') throw notHere(method)
    return this.#calls.run(method.name, caller, fromServer, () =>
      this.#streams.run(method, args, caller, signal),
    )
  }

  admit(caller: Caller, rights: readonly LeastRight[]): Promise<void> | null {
    const { authorizer, clock } = this.#options
    const permissions = authorizer.resolve(caller)
    if (!(permissions instanceof Promise) && hasOneOf(permissions, rights)) return null
    return admitLater({ authorizer, clock, consensus: null }, permissions, caller, rights)
  }

  contact(): Contact {
    return { knownLeader: false, lastContactMs: 0 }
  }

  drain(): void {
    this.#streams.drain()
  }

  /** Calls that arrived and have not ended. */
  get underWayCount(): number {
    return this.#calls.underWayCount
  }

  /** What found no place here. */
  get refused(): { readonly streams: number } {
    return { streams: this.#streams.refusedCount }
  }
}

/** Another server is asked there. */
function here({ at = null }: CallOptions): void {
  if (at !== null) throw at === leaderWord ? onlyServers() : unknownServer(at, [])
}

function askedBy({ args, token, remote, requestId }: CallRequest) {
  const caller: Caller = { token, remote, requestId }
  return { args, caller }
}

function notHere({ name, kind }: Method): MusterError {
  return new MusterError('invalid_argument', `${name} is a ${kind}, an agent does not run it so`)
}
