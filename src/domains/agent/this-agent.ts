/** What the agent's endpoints need of the process they run in, declared here; `server/this-agent.ts` has its form. */
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

export interface ThisAgent {
  /** The configuration as operators may see it: no secret is in it, by name a peer's tools know. */
  config(): Readonly<Record<string, unknown>>
  member(): AgentMember
  /** Sections such as `raft` and `runtime`; every value is text. */
  stats(): AgentStats
  /** Whether this server follows or is a leader. */
  knowsLeader(): boolean
  /** Known regions, this one among them, sorted. */
  regions(): readonly string[]
  readonly log: LogTap
  /** Null: not set. */
  readonly enableDebug: boolean | null
  readonly accessControl: boolean
  /** Null: one per processor, all kinds. */
  readonly schedulers: {
    readonly count: number | null
    readonly enabled: readonly string[] | null
  }
  /** Whether this server leads: the leader rests a share of its workers. */
  leads(): boolean
}
