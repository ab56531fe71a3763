/** What a client agent wants to know of its configuration; the agent checks it before, so nothing is checked here. */
import type { aliasPrefixes } from '../api/headers.ts'
import type { AclSettings } from '../domains/acl/authorizer.ts'
import type { LimitSettings } from '../member/client-limits.ts'
import type { ListenerSettings } from '../member/listeners.ts'
import type { AgentSettings, ShownOptions } from '../member/shown-agent.ts'

export type ClientConfig = AgentSettings & {
  /** Whether checks of this agent may run commands. */
  readonly scriptChecks: boolean
  readonly listeners: readonly ListenerSettings[]
  readonly tls: AgentSettings['tls'] & { readonly caFile: string | null }
  readonly client: NonNullable<AgentSettings['client']>
  readonly acl: AclSettings & AgentSettings['acl']
  readonly headerAliases: readonly (keyof typeof aliasPrefixes)[]
  readonly limits: LimitSettings & {
    readonly httpBodyBytesMax: number
    readonly httpConnectionsMax: number
  }
  readonly audit: ShownOptions['audit']
}
