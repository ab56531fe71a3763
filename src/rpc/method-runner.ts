/** Runs a method in this process: its arguments checked, the caller's rights, the context it sees, and its views closed behind it. */
import type { AbortSource } from '../lib/lazy-abort.ts'
import type { Authorizer, Permissions } from './authorizer.ts'
import type { AgentIdentity } from './agent-identity.ts'
import { MethodContext, nobody, noWrite, type MethodContextOptions } from './method-context.ts'
import type {
  AnyAgentMethod,
  AnyLeaderMethod,
  AnyLocalMethod,
  AnyPeerMethod,
  Caller,
} from './method.ts'
import { mustMay } from './refusal.ts'
import type { Proposer, WriteOptions } from './write.ts'

export type MethodRunnerOptions = MethodContextOptions & {
  readonly authorizer: Authorizer
  readonly writer: Proposer
}

/** Of methods that only servers ask, and of those of agents, which are about their own node. */
const ofServer: Permissions = { may: () => true }

function withoutToken({ remote, requestId }: Caller): Caller {
  return { token: null, remote, requestId }
}

export class MethodRunner {
  readonly #options: MethodRunnerOptions

  constructor(options: MethodRunnerOptions) {
    this.#options = options
  }

  run(
    method: AnyLeaderMethod | AnyLocalMethod,
    args: unknown,
    from: Caller,
    abort: AbortSource,
    write: WriteOptions = noWrite,
  ): Promise<unknown> {
    const ignoresToken = method.kind === 'local' && method.ignoresToken === true
    const caller = ignoresToken ? withoutToken(from) : from
    return this.within(this.#context(nobody, caller, abort, write), method, args)
  }

  /** The same in a context that was made for the call: for the first time, or again where it did nothing. */
  async within(
    context: MethodContext,
    method: AnyLeaderMethod | AnyLocalMethod,
    args: unknown,
  ): Promise<unknown> {
    method.check(args)
    const { authorizer, services } = this.#options
    const resolved = authorizer.resolve(context.caller)
    const permissions = resolved instanceof Promise ? await resolved : resolved
    mustMay(permissions, method.requires(args as never, services.get), method.missing)
    context.grant(permissions)
    try {
      return await method.run(context, args as never)
    } catch (error) {
      throw context.judge(error)
    } finally {
      context.close()
    }
  }

  async forPeer(
    method: AnyPeerMethod,
    args: unknown,
    caller: Caller,
    signal: AbortSignal,
    deadlineMs: number,
  ): Promise<unknown> {
    method.check(args)
    const context = this.#context(ofServer, caller, signal, { deadlineMs })
    try {
      return await method.run(context, args as never)
    } catch (error) {
      throw context.judge(error)
    } finally {
      context.close()
    }
  }

  async forAgent(
    method: AnyAgentMethod,
    args: unknown,
    agent: AgentIdentity,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<unknown> {
    method.check(args)
    const context = this.#context(ofServer, caller, signal, noWrite)
    try {
      return await method.run(context, args as never, agent)
    } finally {
      context.close()
    }
  }

  #context(
    permissions: Permissions,
    caller: Caller,
    abort: AbortSource,
    write: WriteOptions,
  ): MethodContext {
    const { writer } = this.#options
    return new MethodContext(this.#options, writer, permissions, caller, abort, write)
  }
}
