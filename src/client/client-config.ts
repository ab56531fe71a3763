/** What a client agent wants to know of its configuration; the agent checks it before, so nothing is checked here. */
import type { MemberConfig } from '../member/member-config.ts'
import type { ShownOptions } from '../member/shown-agent.ts'

export type ClientConfig = MemberConfig & {
  readonly tls: { readonly caFile: string | null }
  readonly client: NonNullable<MemberConfig['client']>
  readonly audit: ShownOptions['audit']
}
