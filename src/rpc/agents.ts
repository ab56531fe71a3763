/** Client agents and the servers that hold their uplinks, as dispatchers and methods see them. */
import type { Static, TSchema } from 'typebox'
import type { AgentIdentity } from './agent-identity.ts'
import type { CallHandler, CallRequest } from './link.ts'
import type { PeerMethod } from './method.ts'
import type { ServerInfo } from './servers.ts'
import { serviceKey } from './services.ts'

/** The way to the client agent of a node. Of the domain that holds uplinks. */
export interface AgentLink {
  /** The server that holds the node's uplink; null: this one. Rejects with `not_found`, or `unavailable` where none does. */
  holderOf(node: string, signal: AbortSignal): Promise<ServerInfo | null>
  /** Over an uplink that this server holds. As `PeerLink.call`, `unavailable` where it holds none. */
  call(node: string, request: CallRequest, signal: AbortSignal): Promise<unknown>
  /** As `StreamLink.stream`. */
  stream(
    node: string,
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterableIterator<unknown>>
}

export const agentLink = serviceKey<AgentLink>('rpc.agentLink')

/** Runs what an agent asks of the server that holds its uplink. Provided by the dispatcher of a server. */
export const agentCalls = serviceKey<(agent: AgentIdentity) => CallHandler>('rpc.agentCalls')

/** What one server answered; null: it did not. */
export type ServerAnswer<Reply> = { readonly server: ServerInfo; readonly reply: Reply | null }

/** All servers of the cluster, for methods that ask each of them. */
export interface ClusterServers {
  leader(): ServerInfo | null
  all(): readonly ServerInfo[]
  /** Every server but this one, at once. Never rejects. */
  askOthers<Args extends TSchema, Reply extends TSchema>(
    method: PeerMethod<Args, Reply>,
    args: Static<Args>,
    timeoutMs: number,
  ): Promise<readonly ServerAnswer<Static<Reply>>[]>
}

/** Provided by the dispatcher of a server. */
export const clusterServers = serviceKey<ClusterServers>('rpc.clusterServers')
