/** Tokens of logins: from what a login method grants to a row with its lease. */
import { MusterError } from '../../lib/errors.ts'
import type { LeaderContext } from '../../rpc/method.ts'
import { denied } from '../../rpc/refusal.ts'
import { admittedBy } from './bound-cidrs.ts'
import { drawToken, type CreatedToken, type TokenSpec } from './issue.ts'
import { lifetimeAtLogin, type MountLifetimes } from './lifetime-model.ts'
import { batchTokens } from './services.ts'
import { issuedPolicies, whyNotGiven, type TokenParameters } from './token-parameters-model.ts'

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
  /** null: the cluster keeps no entities yet. */
  readonly entityId: string | null
  readonly parameters: TokenParameters
  readonly lifetimes: MountLifetimes
  /** The address that the login came from. */
  readonly remote: string
}

export type IssuedLogin = CreatedToken & { readonly warnings: readonly string[] }

/**
 * The token, drawn and not yet proposed: for a command that writes more with it (`loadIssuedToken`, `applyIssuedToken`). Throws
 * `permission_denied` for an address outside the bound networks, `invalid_argument` for the policy `root` and for too many
 * of them. `commandVersion`: that the cluster runs at.
 */
export function drawLoginToken(grant: LoginGrant, createTimeMs: number, commandVersion: number) {
  const { spec, warnings } = specOfGrant(grant, createTimeMs, commandVersion)
  return { ...drawToken(spec, null), warnings }
}

function specOfGrant(grant: LoginGrant, createTimeMs: number, commandVersion: number) {
  const { parameters, lifetimes, displayName, path, metadata, issuer, entityId, remote } = grant
  const { boundCidrs, numUses } = parameters
  if (boundCidrs.length > 0 && !admittedBy(boundCidrs)(remote)) {
    throw denied(`a login from the address ${remote} is not allowed`)
  }
  const policies = issuedPolicies(grant.policies)
  const reason = whyNotGiven(policies, commandVersion)
  if (reason !== null) throw new MusterError('invalid_argument', reason)
  const isBatch = grant.kind === 'batch'
  // It is neither renewed nor counted.
  const asked = isBatch ? { ...parameters, periodMs: 0 } : parameters
  const { ttlMs, periodMs, explicitMaxTtlMs, warnings } = lifetimeAtLogin(asked, lifetimes)
  const ignored = isBatch ? ignoredForBatch(parameters) : []
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
    ...(entityId !== null && { entityId }),
    ...(numUses > 0 && !isBatch && { usesLeft: numUses }),
    ...(boundCidrs.length > 0 && { boundCidrs }),
  }
  return { spec, warnings: [...warnings, ...ignored] }
}

/** Only the mount's type can make such a login batch: a configuration or role of the type `batch` has neither. */
function ignoredForBatch({ numUses, periodMs }: TokenParameters): readonly string[] {
  return [
    ...(numUses > 0 ? ['token_num_uses is ignored: batch tokens are not counted'] : []),
    ...(periodMs > 0 ? ['token_period is ignored: batch tokens are not renewed'] : []),
  ]
}

/** At the leader, of a grant of that kind: it is stored nowhere. The caller has proved who logs in, and what that gives. */
export async function issueBatchLogin(
  context: Pick<LeaderContext, 'clock' | 'read' | 'service' | 'signal'>,
  grant: LoginGrant,
): Promise<IssuedLogin> {
  const { commandVersion } = context.read()
  const nowMs = Math.floor(context.clock.wallMs())
  const { spec, warnings } = specOfGrant(grant, nowMs, commandVersion)
  const issued = await context.service(batchTokens).issue(context, spec, null)
  return { ...issued, warnings }
}
