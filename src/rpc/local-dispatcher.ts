/** The dispatcher of a process without state, which runs its local methods and streams and nothing else. */
import { admitLater } from './admission.ts'
import { hasOneOf, type Authorizer } from './authorizer.ts'
import type { CallOptions } from './call-options.ts'
import { Calls, fromClient, type CallsOptions } from './calls.ts'
import type { Contact, Dispatcher } from './dispatch.ts'
import type {
  AnyLeaderMethod,
  AnyLocalMethod,
  AnyStreamMethod,
  Caller,
  LeastRight,
} from './method.ts'
import { onlyServers } from './method-context.ts'
import { MethodRunner } from './method-runner.ts'
import { OpenStreams } from './open-streams.ts'
import { unknownServer } from './placement.ts'
import type { QueryAnswer } from './query.ts'
import { leaderWord } from './servers.ts'
import type { Services } from './services.ts'

export type LocalDispatcherOptions = CallsOptions & {
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

  constructor(options: LocalDispatcherOptions) {
    const { services, streamsMax = streamsMaxDefault } = options
    this.services = services
    this.#options = options
    this.#calls = new Calls(options)
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
      return this.#runner.run(method, args, caller, options.signal ?? never)
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
      return this.#streams.run(method, args, caller, options.signal ?? never)
    })
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
