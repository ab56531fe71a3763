/** What the methods of access control use besides the state. */
import { serviceKey, type Services } from '../../rpc/services.ts'
import type { Reader } from '../../fsm/domain.ts'
import { MusterError } from '../../lib/errors.ts'
import type { LeaderContext } from '../../rpc/method.ts'
import type { BatchTokens } from './batch-tokens.ts'
import { stateReader } from '../host.ts'
import type { AclSettings } from './authorizer.ts'
import type { BootstrapReset, ResetFile } from './bootstrap-reset.ts'
import type { MountLifetimes } from './lifetime-model.ts'
import type { TokenRow } from './model.ts'
import type { RuleSets } from './rule-sets.ts'
import type { TokenParameters } from './token-parameters-model.ts'

/** Provided by the server. */
export const aclSettings = serviceKey<
  AclSettings & {
    /** Of the configuration, for the first token; null: none. */
    readonly bootstrapToken: string | null
    readonly resetFile: ResetFile
  }
>('acl.settings')

/** Makes a set of compiled rules for one explanation. */
export const freshRuleSets = serviceKey<() => RuleSets>('acl.ruleSets')

/** What a renewal goes by: the configuration or role as it is now, and the mount's lifetimes. */
export type PresentLifetimes = {
  readonly parameters: Pick<TokenParameters, 'ttlMs' | 'maxTtlMs' | 'periodMs'>
  readonly lifetimes: MountLifetimes
}

/** Of the domain of login methods, which comes later: what tokens of logins are renewed by, and whether their mount is there. */
export type LoginRenewal = {
  /** At the leader, of a token with an `issuer`. Rejects where the login would be refused now: the token stays as it is. */
  present(row: TokenRow, context: LeaderContext): Promise<PresentLifetimes>
  /** Whether the mount is still enabled. Reads rows of the state alone. */
  mountStands(reader: Reader, mountId: string): boolean
}

/** Filled in by the domain of login methods: `service(loginRenewal).current = …`. null: such tokens are not renewed. */
export const loginRenewal = serviceKey<{ current: LoginRenewal | null }>('acl.loginRenewal')

export const bootstrapReset = serviceKey<BootstrapReset>('acl.bootstrapReset')

export const batchTokens = serviceKey<BatchTokens>('acl.batchTokens')

/** Rows written while access control is off would be in force once it is switched on. */
export function assertAclEnabled({ service }: { readonly service: Services['get'] }): void {
  if (service(aclSettings).enabled) return
  throw new MusterError(
    'invalid_argument',
    'ACL support disabled: set acl { enabled = true } on every server',
  )
}

/** That this server's state runs at. */
export function commandVersionAt({ service }: { readonly service: Services['get'] }): number {
  return service(stateReader).commandVersion
}
