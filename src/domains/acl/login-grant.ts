/** Tokens of logins: from what a login method grants to a row with its lease. */
import { MusterError } from '../../lib/errors.ts'
import type { LeaderContext } from '../../rpc/method.ts'
import { denied } from '../../rpc/refusal.ts'
import { admittedBy } from './bound-cidrs.ts'
import { drawToken, writtenToken, type CreatedToken, type TokenSpec } from './issue.ts'
import { createIssuedToken } from './issued-commands.ts'
import { lifetimeAtLogin, type MountLifetimes } from './lifetime-model.ts'
import { issuedPolicies, type TokenParameters } from './token-parameters-model.ts'

export type LoginGrant = {
  readonly kind: 'service' | 'batch'
  /** All of them, `default` too where the token has it. */
  readonly policies: readonly string[]
  /** `ldap-ada` */
  readonly displayName: string
  /** `auth/ldap/login/ada` */
  readonly path: string
  readonly metadata: readonly (readonly [string, string])[]
  readonly issuer: { readonly mount: string; readonly mountId: string; readonly alias: string }
  readonly parameters: TokenParameters
  readonly lifetimes: MountLifetimes
  /** The address that the login came from. */
  readonly remote: string
}

export type IssuedLogin = CreatedToken & { readonly warnings: readonly string[] }

/**
 * The token, drawn and not yet proposed: for a command that writes more with it (`loadIssuedToken`, `applyIssuedToken`). Throws
 * `permission_denied` for an address outside the bound networks, `invalid_argument` for the policy `root`.
 */
export function drawLoginToken(grant: LoginGrant, createTimeMs: number) {
  const { parameters, lifetimes, displayName, path, metadata, issuer, remote } = grant
  const { boundCidrs, numUses } = parameters
  if (boundCidrs.length > 0 && !admittedBy(boundCidrs)(remote)) {
    throw denied(`a login from the address ${remote} is not allowed`)
  }
  const policies = issuedPolicies(grant.policies)
  if (policies.includes('root')) {
    throw new MusterError('invalid_argument', 'a login does not give the policy root')
  }
  const { ttlMs, periodMs, explicitMaxTtlMs, warnings } = lifetimeAtLogin(parameters, lifetimes)
  const spec: TokenSpec = {
    name: displayName,
    description: '',
    type: 'client',
    policies,
    roles: [],
    createTimeMs,
    expirationTimeMs: createTimeMs + ttlMs,
    lease: { ttlMs, renewable: true, periodMs, explicitMaxTtlMs, renewTimeMs: null },
    path,
    metadata,
    issuer,
    ...(numUses > 0 && { usesLeft: numUses }),
    ...(boundCidrs.length > 0 && { boundCidrs }),
  }
  return { ...drawToken(spec, null), warnings }
}

/** At the leader. The caller has proved who logs in, and what that gives. */
export async function issueLoginToken(
  context: Pick<LeaderContext, 'propose' | 'clock'>,
  grant: LoginGrant,
): Promise<IssuedLogin> {
  if (grant.kind === 'batch') {
    throw new MusterError('not_implemented', 'batch tokens are not issued by logins yet')
  }
  const { token, secret, warnings } = drawLoginToken(grant, Math.floor(context.clock.wallMs()))
  const { outcome } = await context.propose(createIssuedToken, token)
  return { row: writtenToken(outcome), secret, warnings }
}
