/** What a client agent wants to know of its configuration; the agent checks it before, so nothing is checked here. */
import type { MemberConfig } from '../member/member-config.ts'
import type { ReloadableSettings } from '../member/reload.ts'
import type { ServerTrustSettings } from './server-trust.ts'

export type ClientConfig = MemberConfig &
  ReloadableSettings & {
    readonly tls: ServerTrustSettings
    readonly client: NonNullable<MemberConfig['client']>
  }
