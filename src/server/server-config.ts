/** What a server wants to know of its configuration; the agent checks it before, so nothing is checked here. */
import type { AclSettings } from '../domains/acl/authorizer.ts'
import type { LogLevel } from '../lib/log.ts'
import type { RaftLimits, RaftTiming } from '../raft/door.ts'
import type { ListenerSettings } from '../member/listeners.ts'
import type { ReloadableSettings } from './reload.ts'
import type { RpcTlsSettings } from './rpc-tls.ts'
import type { AgentSettings } from '../member/shown-agent.ts'

/** What a server wants to know; the agent's configuration fits. Times in milliseconds, sizes in bytes. */
export type ServerConfig = ReloadableSettings & {
  readonly client: AgentSettings['client']
  readonly name: string
  readonly region: string
  readonly datacenter: string
  readonly dataDir: string
  readonly bindAddr: string
  readonly advertiseAddr: string
  readonly logLevel: LogLevel
  readonly logJson: boolean
  readonly enableDebug: boolean | null
  /** A stop also means to leave the cluster for good. */
  readonly leaveOnTerminate: boolean
  /** Whether checks of this agent may run commands. */
  readonly scriptChecks: boolean
  /** 0: any free one. */
  readonly ports: {
    readonly http: number
    readonly rpc: number
    readonly gossip: number
    readonly ops: number
  }
  readonly listeners: readonly ListenerSettings[]
  readonly tls: AgentSettings['tls'] & { readonly rpc: RpcTlsSettings | null }
  readonly server: {
    readonly enabled: boolean
    readonly bootstrapExpect: number
    readonly peers: readonly {
      readonly name: string
      readonly host: string
      readonly port: number
    }[]
    /** Null: no gossip. */
    readonly gossip: {
      readonly retryJoin: readonly string[]
      readonly encrypt: string | null
    } | null
    readonly keyringKeyFile: string | null
    readonly numSchedulers: number | null
    readonly enabledSchedulers: readonly string[] | null
    readonly raft: RaftTiming & RaftLimits & { readonly leaseReads: boolean }
  }
  readonly acl: AclSettings & {
    readonly bootstrapToken: string | null
    readonly agentToken: string | null
  }
  readonly headerAliases: readonly ('consul' | 'nomad' | 'vault')[]
  readonly limits: {
    readonly httpBodyBytesMax: number
    readonly httpConnectionsMax: number
    readonly blockingQueriesMax: number
    /** Readers of events at a time, and what is kept for those who come back. */
    readonly eventStreamsMax: number
    readonly eventsKeptMax: number
    readonly eventBytesKeptMax: number
  }
}
