/** What `/v1/agent/*` needs of the process they run in; `server/process-info.ts` and `client-agent/process-info.ts` fulfil it. */
import type { LogTap } from '../../lib/log.ts'

/** As gossip has it. */
export type AgentMember = {
  /** `name.region` */
  readonly name: string
  readonly address: string
  readonly port: number
  readonly tags: Readonly<Record<string, string>>
  readonly status: 'alive' | 'leaving' | 'left' | 'failed'
  readonly protocol: { readonly min: number; readonly max: number; readonly current: number }
  readonly delegate: { readonly min: number; readonly max: number; readonly current: number }
}

export type AgentStats = Readonly<Record<string, Readonly<Record<string, string>>>>

export type AgentSide = 'server' | 'client'

export type AgentHealth = {
  readonly side: AgentSide
  /** What keeps it from its work; null: nothing. */
  readonly problem: string | null
  /** What an operator should change although it works; null: nothing. */
  readonly warning: string | null
}

export interface KnownServers {
  /** host:port of their APIs, sorted. */
  list(): readonly string[]
  /** From now on these, until gossip says more. Rejects with `invalid_argument` if one of them does not answer. */
  replace(addresses: readonly string[]): Promise<void>
}

export interface ProcessInfo {
  /** The configuration as operators may see it: no secret is in it, under names that Nomad's tools know. */
  config(): Readonly<Record<string, unknown>>
  member(): AgentMember
  /** Sections such as `raft` and `runtime`; every value is text. */
  stats(): AgentStats
  health(): AgentHealth
  /** That a client agent knows; null: this agent is a server. */
  readonly servers: KnownServers | null
  /** Known regions, this one among them, sorted. */
  regions(): readonly string[]
  /** The node of the client agent that has this name, `name.region`, among the members; null: there is none, or this is none to ask. */
  clientNamed(name: string): string | null
  readonly log: LogTap
  /**
   * Reads again what may change while the process runs. Rejects with one line for all that stayed as it was; resolves with
   * a warning of what takes a restart, null: nothing does.
   */
  reload(): Promise<string | null>
  /** Null: not set. */
  readonly enableDebug: boolean | null
  readonly accessControl: boolean
  /** Null: this agent is no server. In it: one per processor, all kinds. */
  readonly schedulers: {
    readonly count: number | null
    readonly enabled: readonly string[] | null
  } | null
  /** Whether this server leads: the leader rests a share of its workers. */
  leads(): boolean
}
