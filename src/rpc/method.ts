/**
 * What a server can be asked, by whomever: a named method with typed, validated arguments. HTTP routes, other servers
 * and client agents all come through `dispatch.ts` with a method and its arguments.
 *
 * `rpc` may import `lib`, `wire`, `fsm` (readers, watches) and gRPC; consensus and the authorizer come in as interfaces.
 */
import type { Static, TSchema } from 'typebox'
import type { Reader } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { AgentContract } from './agent-contract.ts'
import type { AgentIdentity } from './agent-identity.ts'
import { answerCheckOf, checkOf, replyCheckOf } from './method-check.ts'
import type { Services } from './services.ts'
import type { Propose } from './write.ts'

export type Caller = {
  /** The secret of the token, as sent; null: anonymous. Never logged. */
  readonly token: string | null
  /** For audit lines: the address the request came from. */
  readonly remote: string
  readonly requestId: string
  /**
   * Of a token with a limited number of uses: whether one was spent for this request, which then goes on although it was the last
   * one. Set where the token is first looked at, and sent along where the request is forwarded. Absent: not yet.
   */
  use?: boolean | Promise<boolean>
}

/** What the caller must be allowed to do; `authorize` decides in one place. */
export type Requirement =
  | { readonly resource: 'none' }
  | { readonly resource: 'operator' | 'agent'; readonly access: 'read' | 'write' | 'list' }
  /** Tokens, policies and roles; with `write` one may give oneself everything. */
  | { readonly resource: 'acl'; readonly access: 'read' | 'write' | 'list' }
  /** The keys of gossip. */
  | { readonly resource: 'keyring'; readonly access: 'read' | 'write' }
  /** A path of the login methods. */
  | {
      readonly resource: 'auth'
      readonly path: string
      /** `sudo`: to make tokens there that have more than the caller. */
      readonly access: 'read' | 'write' | 'delete' | 'list' | 'sudo'
    }
  /** Logins at the mount with this path. */
  | { readonly resource: 'login'; readonly mount: string; readonly access: 'explain' }
  /** Without a name: all events. */
  | {
      readonly resource: 'event'
      readonly event?: string
      readonly access: 'read' | 'write' | 'list'
    }
  /** Without a name: all nodes. */
  | {
      readonly resource: 'node'
      readonly node?: string
      readonly access: 'read' | 'write' | 'list'
    }
  | {
      readonly resource: 'service'
      readonly namespace: string
      readonly service: string
      readonly access: 'read' | 'write'
    }
  | {
      readonly resource: 'variables'
      readonly namespace: string
      readonly path: string
      readonly access: 'list' | 'read' | 'write' | 'destroy'
    }
  | { readonly resource: 'namespace'; readonly namespace: string; readonly access: string }
  | {
      readonly resource: 'key'
      readonly namespace: string
      readonly key: string
      readonly access: 'read' | 'list' | 'write'
      /** `key` is a prefix: whatever is below it must be allowed. */
      readonly prefix?: boolean
    }
  | {
      readonly resource: 'session'
      readonly namespace: string
      readonly node: string
      readonly access: 'read' | 'write'
    }

/** A right to something, whatever it is. */
export type LeastRight = {
  readonly resource: Exclude<Requirement['resource'], 'none'>
  readonly access: 'read' | 'list' | 'write'
}

export type Consistency = 'default' | 'consistent' | 'stale'

export type ReadOptions = {
  readonly consistency: Consistency
  /** 0: do not park. Otherwise wait until the result's index is above this. */
  readonly minIndex: number
  /** With jitter and cap already in it. */
  readonly waitMs: number
}

export type QueryResult<Value> = {
  /**
   * Plain data, or an async iterable (pages of rows) that goes on reading the view: the caller reads it to its end
   * or calls its `return`. Ranges count as read when `pages` is called, not when the iterable is.
   */
  readonly value: Value
  /** What `minIndex` is compared with and what the caller is told: never 0, never falls on one server. */
  readonly index: number
}

/** What the `define…` functions add. */
export type Checked = {
  /** Throws `invalid_argument` for arguments of another shape; the text names the field and never shows its value. */
  readonly check: (args: unknown) => void
}

/** Of methods that agents of nodes are asked. */
export type Answered = Checked & {
  /** Throws `incompatible` for an answer of another shape. */
  readonly checkAnswer: (answer: unknown) => void
}

type Common<Args extends TSchema> = {
  /** `variables.put`: how other servers, the audit log and metrics call it. */
  readonly name: string
  readonly args: Args
  /** `service`: of the process that runs it. */
  readonly requires: (args: Static<Args>, service: Services['get']) => Requirement
  /** What a refusal names where `requires` reads the state: the requirement itself would tell what is there. */
  readonly missing?: string
}

/** A read. Runs where it arrives, after the barrier that the caller's consistency asks for; parks and runs again for blocking queries. */
export type Query<Args extends TSchema, Value> = Checked & QuerySpec<Args, Value>

type QuerySpec<Args extends TSchema, Value> = Common<Args> & {
  readonly kind: 'query'
  /**
   * Its answers may be long: reads that do not wait share them too, as blocking ones always do. A value that others are given
   * as well is not changed, and its pages are read once.
   */
  readonly long?: true
  /** A caller without all of these, to whatever it be, is shown nothing: it may not wait for a change. */
  readonly least?: readonly LeastRight[]
  /** Such a caller is refused at once, also where it does not wait. Default: it gets an empty answer. */
  readonly needsLeast?: true
  /** Its index may be of more than it reads, and only a change of what it reads is an answer to one who waits. */
  readonly ownChanges?: true
  readonly query: (
    reader: Reader,
    args: Static<Args>,
    context: QueryContext,
  ) => QueryResult<Value> | Promise<QueryResult<Value>>
}

/** A write, or anything else that only the leader may do. Forwarded as a request, at most one hop. The result must survive msgpack. */
export type LeaderMethod<Args extends TSchema, Value> = Checked & LeaderMethodSpec<Args, Value>

type LeaderMethodSpec<Args extends TSchema, Value> = Common<Args> & {
  readonly kind: 'leader'
  /**
   * All it does is to propose through its context, and its result follows from its arguments and the outcomes. So a
   * server whose leader was lost sends it again if it did nothing, and gives the answer if it did. Absent: the caller
   * learns that the outcome is unknown.
   */
  readonly repeatable?: true
  /**
   * It ends tokens: the server that the client asked answers once it refuses them itself, also where it asks no leader, as far
   * as it can learn of it.
   */
  readonly endsTokens?: true
  readonly run: (context: LeaderContext, args: Static<Args>) => Promise<Value>
}

/** Something about this very server. */
export type LocalMethod<Args extends TSchema, Value> = Answered & LocalMethodSpec<Args, Value>

type LocalMethodSpec<Args extends TSchema, Value> = Common<Args> & {
  readonly kind: 'local'
  /** What a client agent may answer, which servers do not believe unread. Absent: no agent of a node is asked. */
  readonly answer?: TSchema
  /**
   * A token that the caller sends along is not looked at: the method is open to all, or a login proves who the caller is by other
   * means.
   */
  readonly ignoresToken?: true
  readonly run: (context: LocalContext, args: Static<Args>) => Promise<Value>
}

/**
 * What goes on at one server until it ends or the caller goes away. The items must survive msgpack and end soon after
 * `context.signal` fires, also with a last one that says why; they are asked for no faster than the caller takes them.
 * The signal fires with a MusterError for a reason when the server stops, or the caller may not have the stream any more.
 */
export type StreamMethod<Args extends TSchema, Item> = Answered & StreamMethodSpec<Args, Item>

type StreamMethodSpec<Args extends TSchema, Item> = Common<Args> & {
  readonly kind: 'stream'
  /** Of each item, as of a local method's result. */
  readonly answer?: TSchema
  readonly open: (
    context: StreamContext,
    args: Static<Args>,
  ) => AsyncIterable<Item> | Promise<AsyncIterable<Item>>
}

/**
 * What servers ask one another; no client can name it. That the caller is a server is what admission to the connection
 * decided (`wire/admission.ts`). Fields that older programs do not send are optional, in arguments and in replies.
 */
export type PeerMethod<Args extends TSchema, Reply extends TSchema> = Checked &
  PeerMethodSpec<Args, Reply> & {
    /** Throws `internal` for a reply of another shape. */
    readonly checkReply: (reply: unknown) => asserts reply is Static<Reply>
  }

type PeerMethodSpec<Args extends TSchema, Reply extends TSchema> = {
  readonly kind: 'peer'
  readonly name: string
  readonly args: Args
  readonly reply: Reply
  /** Refused with `not_leader` elsewhere. Absent: any server answers for itself. */
  readonly at?: 'leader'
  readonly run: (
    context: LeaderContext,
    args: Static<Args>,
  ) => Static<Reply> | Promise<Static<Reply>>
}

/**
 * What a client agent asks of the server that holds its uplink, and runs there; no one else can name it. That the agent speaks for
 * its node was proved when the uplink was opened.
 */
export type AgentMethod<Args extends TSchema, Reply extends TSchema> = Checked & {
  readonly kind: 'agent'
  readonly name: string
  readonly args: Args
  readonly run: AgentMethodRun<Args, Reply>
}

type AgentMethodRun<Args extends TSchema, Reply extends TSchema> = (
  context: LocalContext,
  args: Static<Args>,
  agent: AgentIdentity,
) => Static<Reply> | Promise<Static<Reply>>

/** A method whose argument type is forgotten, as the registry holds it; every method is assignable to it. */
export type Method =
  | AnyQuery
  | AnyLeaderMethod
  | AnyLocalMethod
  | AnyStreamMethod
  | AnyPeerMethod
  | AnyAgentMethod

type AnyCommon = Checked & {
  readonly name: string
  readonly args: TSchema
  readonly requires: (args: never, service: Services['get']) => Requirement
  readonly missing?: string
}

export type AnyQuery = AnyCommon & {
  readonly kind: 'query'
  readonly long?: true
  readonly least?: readonly LeastRight[]
  readonly needsLeast?: true
  readonly ownChanges?: true
  readonly query: (
    reader: Reader,
    args: never,
    context: QueryContext,
  ) => QueryResult<unknown> | Promise<QueryResult<unknown>>
}

export type AnyLeaderMethod = AnyCommon & {
  readonly kind: 'leader'
  readonly repeatable?: true
  readonly endsTokens?: true
  readonly run: (context: LeaderContext, args: never) => Promise<unknown>
}

export type AnyLocalMethod = AnyCommon &
  Answered & {
    readonly kind: 'local'
    readonly ignoresToken?: true
    readonly run: (context: LocalContext, args: never) => Promise<unknown>
  }

export type AnyStreamMethod = AnyCommon &
  Answered & {
    readonly kind: 'stream'
    readonly open: (
      context: StreamContext,
      args: never,
    ) => AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>
  }

export type AnyPeerMethod = Checked & {
  readonly kind: 'peer'
  readonly name: string
  readonly args: TSchema
  readonly at?: 'leader'
  readonly run: (context: LeaderContext, args: never) => unknown
}

export type AnyAgentMethod = Checked & {
  readonly kind: 'agent'
  readonly name: string
  readonly args: TSchema
  readonly run: (context: LocalContext, args: never, agent: AgentIdentity) => unknown
}

/** Write methods as `defineQuery({ kind: 'query', name, args: schema, ... })`: the handlers' types follow from the schema. */
export function defineQuery<Args extends TSchema, Value>(
  method: QuerySpec<Args, Value>,
): Query<Args, Value> {
  return { ...method, check: checkOf(method) }
}

export function defineLeaderMethod<Args extends TSchema, Value>(
  method: LeaderMethodSpec<Args, Value>,
): LeaderMethod<Args, Value> {
  return { ...method, check: checkOf(method) }
}

export function defineLocalMethod<Args extends TSchema, Value>(
  method: LocalMethodSpec<Args, Value>,
): LocalMethod<Args, Value> {
  return { ...method, check: checkOf(method), checkAnswer: answerCheckOf(method) }
}

export function defineStreamMethod<Args extends TSchema, Item>(
  method: StreamMethodSpec<Args, Item>,
): StreamMethod<Args, Item> {
  return { ...method, check: checkOf(method), checkAnswer: answerCheckOf(method) }
}

export function definePeerMethod<Args extends TSchema, Reply extends TSchema>(
  method: PeerMethodSpec<Args, Reply>,
): PeerMethod<Args, Reply> {
  return { ...method, check: checkOf(method), checkReply: replyCheckOf(method) }
}

/** What a server does that is asked by the contract. */
export function defineAgentMethod<Args extends TSchema, Reply extends TSchema>(
  contract: AgentContract<Args, Reply>,
  run: AgentMethodRun<Args, Reply>,
): AgentMethod<Args, Reply> {
  const { name, args } = contract
  return { kind: 'agent', name, args, run, check: checkOf(contract) }
}

export type QueryContext = {
  readonly caller: Caller
  /** Of the caller's token; null: there is none, or access control is off. */
  readonly accessor: string | null
  /** Whether the caller has gone. */
  readonly signal: Pick<AbortSignal, 'aborted'>
  /** Whether the caller may also do this; for filtering rows and for leaving out secrets. */
  may(requirement: Requirement): boolean
  /** What a refusal names; absent: nothing. */
  readonly missing?: ((requirement: Requirement) => string) | undefined
  /** Of the process that runs the method. */
  readonly service: Services['get']
}

export type LocalContext = QueryContext & {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly log: Logger
  /** A reader of this server's state as it is. Good until the method ends or proposes. */
  read(): Reader
  /** Whether there may be anything that all of these rights are for. */
  maySeeSome(rights: readonly LeastRight[]): boolean
}

export type StreamContext = LocalContext & {
  /**
   * From then on `may` speaks of the caller's rights in the state as it was at this call, or later. Rejects when the caller
   * may not have the stream any more; that is looked up every half second without it too.
   */
  renewPermissions(): Promise<void>
  /** As above, in a state as new as the leader's when there is one. */
  freshenPermissions(): Promise<void>
}

/**
 * What ends what is made with a token that is stored nowhere: at `endMs` (wall-clock; Infinity: never) the token's time, and before the
 * stored token that it ends with (null: none).
 */
export type MadeUntil = {
  readonly accessor: string | null
  readonly endMs: number
  /** The login method that the token ends with; null: none. */
  readonly mountId: string | null
  /** Whether the token is still good in a state, but for its time. */
  stands(reader: Reader): boolean
}

export type LeaderContext = LocalContext & {
  /** null: what is made with the caller's token ends with that token. */
  readonly madeUntil: MadeUntil | null
  /** The commands were applied already, and the answer is made once more (`replay.ts`): nothing is refused for what they changed. */
  readonly tookEffect: boolean
  readonly propose: Propose
}
