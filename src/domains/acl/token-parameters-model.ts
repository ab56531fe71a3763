/**
 * The token parameters that the configuration of a login method, a role of one and a role of the token endpoints have in common,
 * as they are stored: durations in milliseconds, 0 where nothing is set.
 */
import { Type, type Static } from 'typebox'
import { Count, record } from '../../fsm/row-schema.ts'
import { MusterError } from '../../lib/errors.ts'
import {
  aclNameLengthMax,
  cidrLengthMax,
  cidrsPerTokenMax,
  manyPoliciesVersion,
  policiesPerIssuedTokenMax,
  PolicyNames,
  policiesPerTokenMax,
  ttlMsMax,
} from './model.ts'
import { networkOf } from './network-model.ts'

const DurationMs = Type.Integer({ minimum: 0, maximum: ttlMsMax })

/** `default`: as the mount is tuned. */
export const IssuedTokenType = Type.Enum(['service', 'batch', 'default'])
export type IssuedTokenType = Static<typeof IssuedTokenType>

export const BoundCidrs = Type.Immutable(
  Type.Array(Type.String({ maxLength: cidrLengthMax }), { maxItems: cidrsPerTokenMax }),
)

export const TokenParameters = record({
  /** 0: as the mount says. */
  ttlMs: DurationMs,
  /** 0: as the mount says. */
  maxTtlMs: DurationMs,
  policies: PolicyNames,
  /** Empty: from everywhere. */
  boundCidrs: BoundCidrs,
  /** 0: no limit of its own. */
  explicitMaxTtlMs: DurationMs,
  noDefaultPolicy: Type.Boolean(),
  /** 0: not limited. */
  numUses: Count,
  /** 0: not periodic. */
  periodMs: DurationMs,
  type: IssuedTokenType,
})

export type TokenParameters = Readonly<Static<typeof TokenParameters>>

export const noTokenParameters: TokenParameters = {
  ttlMs: 0,
  maxTtlMs: 0,
  policies: [],
  boundCidrs: [],
  explicitMaxTtlMs: 0,
  noDefaultPolicy: false,
  numUses: 0,
  periodMs: 0,
  type: 'default',
}

/** `mountMaxTtlMs`: of the mount, for roles; absent: a period is not compared with it. Throws `invalid_argument`. */
export function checkTokenParameters(parameters: TokenParameters, mountMaxTtlMs?: number): void {
  const { ttlMs, maxTtlMs, explicitMaxTtlMs, periodMs, numUses, type } = parameters
  checkDurationMs('token_ttl', ttlMs)
  checkDurationMs('token_max_ttl', maxTtlMs)
  checkDurationMs('token_explicit_max_ttl', explicitMaxTtlMs)
  checkDurationMs('token_period', periodMs)
  checkUses('token_num_uses', numUses)
  if (maxTtlMs > 0 && ttlMs > maxTtlMs) {
    throw refused('token_ttl must not be greater than token_max_ttl')
  }
  if (type === 'batch' && periodMs > 0) {
    throw refused('token_type batch cannot be used with token_period: batch tokens are not renewed')
  }
  if (type === 'batch' && numUses > 0) {
    throw refused(
      'token_type batch cannot be used with token_num_uses: batch tokens are not counted',
    )
  }
  if (mountMaxTtlMs !== undefined && periodMs > mountMaxTtlMs) {
    throw refused(
      `token_period must not be greater than the mount's maximum of ${mountMaxTtlMs / 1_000}s`,
    )
  }
  checkCidrs('token_bound_cidrs', parameters.boundCidrs)
  checkIssuedPolicies('token_policies', parameters.policies)
}

/** Throws `invalid_argument`. */
export function checkDurationMs(name: string, ms: number): void {
  if (ms >= 0 && ms <= ttlMsMax && Number.isSafeInteger(ms)) return
  throw refused(`${name} must be from 0 to ${ttlMsMax / 1_000} seconds (${ttlMsMax / 3_600_000}h)`)
}

/** Throws `invalid_argument`. */
export function checkUses(name: string, uses: number): void {
  if (Number.isSafeInteger(uses) && uses >= 0) return
  throw refused(`${name} must not be negative`)
}

/** An address alone is a network of one. Throws `invalid_argument`. */
export function checkCidrs(name: string, cidrs: readonly string[]): void {
  if (cidrs.length > cidrsPerTokenMax) {
    throw refused(`${name} may hold at most ${cidrsPerTokenMax} networks`)
  }
  for (const cidr of cidrs) {
    if (isCidr(cidr)) continue
    throw refused(
      `${name} must hold networks such as 10.0.0.0/8, not ${JSON.stringify(cidr.slice(0, 100))}`,
    )
  }
}

function isCidr(text: string): boolean {
  return text.length <= cidrLengthMax && networkOf(text) !== null
}

/** Names that nobody wrote are allowed: they give nothing. Throws `invalid_argument`. */
export function checkIssuedPolicies(name: string, policies: readonly string[]): void {
  if (policies.length > policiesPerTokenMax) {
    throw refused(`${name} may hold at most ${policiesPerTokenMax} policies`)
  }
  for (const policy of policies) {
    // Lower case may be longer.
    const length = Math.max(policy.length, folded(policy).length)
    if (policy !== '' && length <= aclNameLengthMax && !/\p{Cc}/u.test(policy)) continue
    throw refused(`${name} must hold names of 1 to ${aclNameLengthMax} characters, in lower case`)
  }
}

/** As a token has them: trimmed, lower-case, each once, sorted, without blanks. */
export function issuedPolicies(names: Iterable<string>): readonly string[] {
  const kept = new Set<string>()
  for (const name of names) {
    const policy = folded(name)
    if (policy !== '') kept.add(policy)
  }
  return [...kept].sort()
}

function folded(policy: string): string {
  return policy.trim().toLowerCase()
}

/** All policies of a token that a login or another token makes. `commandVersion`: that the cluster runs at. Throws `invalid_argument`. */
export function checkIssuable(policies: readonly string[], commandVersion: number): void {
  const reason = whyNotIssuable(policies, commandVersion)
  if (reason !== null) throw refused(reason)
}

/** As `checkIssuable`; null: nothing is against it. */
export function whyNotIssuable(policies: readonly string[], commandVersion: number): string | null {
  const count = policies.length
  if (count > policiesPerIssuedTokenMax) {
    return `the token would have ${count} policies; a token has at most ${policiesPerIssuedTokenMax}`
  }
  if (count > policiesPerTokenMax && commandVersion < manyPoliciesVersion) {
    return `the token would have ${count} policies; a token has at most ${policiesPerTokenMax} until every server is at command version ${manyPoliciesVersion}`
  }
  const long = policies.find((policy) => policy.length > aclNameLengthMax)
  if (long === undefined) return null
  return `the name of a policy has at most ${aclNameLengthMax} characters, not ${JSON.stringify(long.slice(0, 20))} and on with ${long.length}`
}

/** Why no login gives these policies; null: nothing is against it. */
export function whyNotGiven(policies: readonly string[], commandVersion: number): string | null {
  if (policies.includes('root')) return 'a login does not give the policy root'
  return whyNotIssuable(policies, commandVersion)
}

function refused(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
