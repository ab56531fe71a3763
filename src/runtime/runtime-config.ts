/** What servers and client agents alike want to know of their configuration. Sizes in bytes. */
import type { DefinitionSettings } from './defined-services.ts'
import type { HttpSettings } from './browser-settings.ts'
import type { LimitSettings } from './client-limits.ts'
import type { ListenerSettings } from './listeners.ts'
import type { AgentSettings } from './shown-config.ts'

export type RuntimeConfig = AgentSettings &
  HttpSettings & {
    /** Which checks may run commands: none, those that the configuration files define, or also those registered over HTTP. */
    readonly scriptChecks: 'none' | 'files' | 'all'
    readonly definitions: DefinitionSettings
    readonly listeners: readonly ListenerSettings[]
    readonly limits: LimitSettings & {
      readonly httpBodyBytesMax: number
      readonly httpBodiesBytesMax: number
      readonly httpAnswerBytesMax: number
      readonly httpConnectionsMax: number
    }
  }
