/** What the methods of access control use besides the state. */
import { serviceKey, type Services } from '../../rpc/services.ts'
import { MusterError } from '../../lib/errors.ts'
import type { AclSettings } from './authorizer.ts'
import type { RuleSets } from './rule-sets.ts'

/** Provided by the server. */
export const aclSettings = serviceKey<
  AclSettings & {
    /** Of the configuration, for the first token; null: none. */
    readonly bootstrapToken: string | null
    /** What an operator wrote to allow one more beginning; null: nothing. */
    readonly readResetIndex: () => Promise<number | null>
  }
>('acl.settings')

/** Makes a set of compiled rules for one explanation. */
export const freshRuleSets = serviceKey<() => RuleSets>('acl.ruleSets')

/** Rows that somebody wrote while nobody had to ask would be in force once it is switched on. */
export function assertAclEnabled({ service }: { readonly service: Services['get'] }): void {
  if (service(aclSettings).enabled) return
  throw new MusterError(
    'invalid_argument',
    'ACL support disabled: set acl { enabled = true } on every server',
  )
}
