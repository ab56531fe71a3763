/** What servers and client agents alike want to know of their configuration. Sizes in bytes. */
import type { LimitSettings } from './client-limits.ts'
import type { ListenerSettings } from './listeners.ts'
import type { AgentSettings } from './shown-agent.ts'

export type MemberConfig = AgentSettings & {
  /** Whether checks of this agent may run commands. */
  readonly scriptChecks: boolean
  readonly listeners: readonly ListenerSettings[]
  readonly limits: LimitSettings & {
    readonly httpBodyBytesMax: number
    readonly httpConnectionsMax: number
  }
}
