/** What a client agent wants to know of its configuration; the agent checks it before, so nothing is checked here. */
import type { MemberConfig } from '../member/member-config.ts'
import type { ReloadableSettings } from '../member/reload.ts'

export type ClientConfig = MemberConfig &
  ReloadableSettings & {
    readonly tls: { readonly caFile: string | null }
    readonly client: NonNullable<MemberConfig['client']>
  }
