/** What `rpc` needs to know of the servers by name; the composition root gives it. */
import type { LeaderInfo } from './consensus.ts'

export type ServerInfo = Omit<LeaderInfo, 'term'>

export interface ServerDirectory {
  readonly selfId: string
  /** By id, name, or `name.region`; null: there is no such server. */
  find(text: string): ServerInfo | null
  /** All, this one too. */
  all(): readonly ServerInfo[]
  /** For refusals that say what would be right. */
  names(): readonly string[]
}

/** Says "the one that leads" wherever a server can be named. */
export const leaderWord = 'leader'
