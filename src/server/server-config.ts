/** What a server wants to know of its configuration; the agent checks it before, so nothing is checked here. */
import type { NodeSettings } from '../domains/nodes/services.ts'
import type { RaftLimits, RaftTiming } from '../raft/raft.ts'
import type { RuntimeConfig } from '../runtime/runtime-config.ts'
import type { ReloadableSettings } from '../runtime/reload.ts'
import type { RpcTlsSettings } from './rpc-tls.ts'
import type { AgentSettings } from '../runtime/shown-config.ts'

/** What a server wants to know; the agent's configuration fits. Times in milliseconds, sizes in bytes. */
export type ServerConfig = RuntimeConfig &
  ReloadableSettings & {
    readonly tls: AgentSettings['tls'] & { readonly rpc: RpcTlsSettings | null }
    readonly server: AgentSettings['server'] & {
      readonly peers: readonly {
        readonly name: string
        readonly host: string
        readonly port: number
      }[]
      /** In bytes. */
      readonly memory: {
        readonly targetBytes: number
        readonly rowCacheBytes: number
        readonly blockCacheBytes: number
      }
      readonly heartbeats: NodeSettings['heartbeats']
      readonly raft: RaftTiming & RaftLimits & { readonly leaseReads: boolean }
    }
    readonly limits: {
      readonly blockingQueriesMax: number
      /** Readers of events at a time, and what is kept for those who come back. */
      readonly eventStreamsMax: number
      readonly eventsKeptMax: number
      readonly eventBytesKeptMax: number
    }
  }
