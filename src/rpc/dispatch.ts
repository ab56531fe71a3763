/**
 * What HTTP asks of a process: methods with their arguments, and whose word it is. A server has its form in
 * `server-dispatcher.ts`, an agent without state in `local-dispatcher.ts`; names are looked up only for what other servers send.
 */
import type { CallOptions, QueryOptions } from './call-options.ts'
import type {
  AnyLeaderMethod,
  AnyLocalMethod,
  AnyQuery,
  AnyStreamMethod,
  Caller,
  LeastRight,
  ReadOptions,
} from './method.ts'
import type { QueryAnswer } from './query.ts'
import type { Services } from './services.ts'

/** What replies tell about this server's view of the cluster. */
export type Contact = { readonly knownLeader: boolean; readonly lastContactMs: number }

export interface Dispatcher {
  /** Of this process, for routes. */
  readonly services: Services
  /** Runs a query here. The caller calls the answer's `close` after the last use of its value. */
  query(
    method: AnyQuery,
    args: unknown,
    caller: Caller,
    read: ReadOptions,
    options?: QueryOptions,
  ): Promise<QueryAnswer>
  /** Runs a leader method at the leader, wherever it is, or a local method at the server that `at` names. */
  call(
    method: AnyLeaderMethod | AnyLocalMethod,
    args: unknown,
    caller: Caller,
    options?: CallOptions,
  ): Promise<unknown>
  /**
   * Opens a stream at the server that `at` names, this one by default. Rejects when the method refuses; then the items
   * come until the stream ends, fails, `signal` fires or this process drains. The caller reads the iterator to its
   * end or calls its `return`. The deadline bounds the opening alone.
   */
  open(
    method: AnyStreamMethod,
    args: unknown,
    caller: Caller,
    options?: CallOptions,
  ): Promise<AsyncIterableIterator<unknown>>
  /** See `Authorizer.settle`. Absent: another process does it. */
  settle?(caller: Caller): Promise<unknown> | null
  /**
   * Rejects for a caller that has none of these rights to anything; null: it has one, as is known at once. Asked before
   * its request is read whole, on the state of this server, or on a newer one before it is refused.
   */
  admit(caller: Caller, rights: readonly LeastRight[]): Promise<void> | null
  contact(): Contact
  /** Answers all blocking queries with what there is, lets none wait any more, and ends all streams: the process is about to stop. */
  drain(): void
}
