/** What a client agent wants to know of its configuration; the agent checks it before, so nothing is checked here. */
import type { RuntimeConfig } from '../runtime/runtime-config.ts'
import type { ReloadableSettings } from '../runtime/reload.ts'
import type { ServerTrustSettings } from './server-trust.ts'

export type ClientConfig = RuntimeConfig &
  ReloadableSettings & {
    readonly tls: ServerTrustSettings
    readonly client: NonNullable<RuntimeConfig['client']>
  }
