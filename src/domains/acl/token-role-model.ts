/** Roles of the token endpoints: what tokens that are made by one get, whatever the rights of their maker. */
import { Type, type Static } from 'typebox'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { MusterError } from '../../lib/errors.ts'
import { aliasNameLengthMax } from '../entities/model.ts'
import { systemTtlMs } from './lifetime-model.ts'
import { AclName, aclNameLengthMax, LifetimeMs, PolicyNames } from './model.ts'
import {
  BoundCidrs,
  checkCidrs,
  checkDurationMs,
  checkIssuedPolicies,
  checkUses,
} from './token-parameters-model.ts'

export const pathSuffixLengthMax = 128
export const entityAliasLengthMax = aliasNameLengthMax
/** Of one role. */
const entityAliasesMax = 128

/** `default-…`: that type, unless the request names another. */
export const TokenRoleType = Type.Enum(['service', 'batch', 'default-service', 'default-batch'])
export type TokenRoleType = Static<typeof TokenRoleType>

const EntityAliases = Type.Immutable(
  Type.Array(Type.String({ maxLength: entityAliasLengthMax }), { maxItems: entityAliasesMax }),
)

export const TokenRoleSpec = Type.Object({
  name: AclName,
  /**
   * With any of these four the policies of the caller's own token do not matter, but as those to begin with where none is allowed and none
   * asked for. Globs: `*` is any run.
   */
  allowedPolicies: PolicyNames,
  disallowedPolicies: PolicyNames,
  allowedPolicyGlobs: PolicyNames,
  disallowedPolicyGlobs: PolicyNames,
  orphan: Type.Boolean(),
  renewable: Type.Boolean(),
  /** Stands at the end of the path of its tokens. */
  pathSuffix: Type.String({ maxLength: pathSuffixLengthMax }),
  explicitMaxTtlMs: LifetimeMs,
  periodMs: LifetimeMs,
  boundCidrs: BoundCidrs,
  noDefaultPolicy: Type.Boolean(),
  numUses: Count,
  type: TokenRoleType,
  /** Names and globs, lower-case, that a token by the role may be given as its alias. Absent: none. */
  allowedEntityAliases: Type.Optional(EntityAliases),
})
export type TokenRoleSpec = Readonly<Static<typeof TokenRoleSpec>>

export const TokenRoleRow = record({ ...TokenRoleSpec.properties, ...indexes })
export type TokenRoleRow = Readonly<Static<typeof TokenRoleRow>>

export function newTokenRole(name: string): TokenRoleSpec {
  return {
    name,
    allowedPolicies: [],
    disallowedPolicies: [],
    allowedPolicyGlobs: [],
    disallowedPolicyGlobs: [],
    orphan: false,
    renewable: true,
    pathSuffix: '',
    explicitMaxTtlMs: 0,
    periodMs: 0,
    boundCidrs: [],
    noDefaultPolicy: false,
    numUses: 0,
    type: 'default-service',
  }
}

/** Throws `invalid_argument`. */
export function checkEntityAliases(aliases: readonly string[]): void {
  if (
    aliases.length <= entityAliasesMax &&
    aliases.every((alias) => alias !== '' && alias.length <= entityAliasLengthMax)
  ) {
    return
  }
  throw refused(
    `allowed_entity_aliases has at most ${entityAliasesMax} names of 1 to ${entityAliasLengthMax} characters`,
  )
}

/** Throws `invalid_argument`. */
export function checkTokenRole(role: TokenRoleSpec): void {
  const { pathSuffix, numUses, type, periodMs, explicitMaxTtlMs, allowedEntityAliases = [] } = role
  checkEntityAliases(allowedEntityAliases)
  checkIssuedPolicies('allowed_policies', role.allowedPolicies)
  checkIssuedPolicies('disallowed_policies', role.disallowedPolicies)
  checkIssuedPolicies('allowed_policies_glob', role.allowedPolicyGlobs)
  checkIssuedPolicies('disallowed_policies_glob', role.disallowedPolicyGlobs)
  checkCidrs('token_bound_cidrs', role.boundCidrs)
  checkDurationMs('token_period', periodMs)
  if (periodMs > systemTtlMs) {
    throw refused(`token_period must not be greater than the maximum of ${systemTtlMs / 1_000}s`)
  }
  checkDurationMs('token_explicit_max_ttl', explicitMaxTtlMs)
  if (
    !/^(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?)?$/.test(pathSuffix) ||
    pathSuffix.length > pathSuffixLengthMax
  ) {
    throw refused('path_suffix has letters, digits and _, with - and . inside')
  }
  checkUses('token_num_uses', numUses)
  if (type === 'batch' && (periodMs > 0 || numUses > 0 || explicitMaxTtlMs > 0)) {
    throw refused('a role of type batch has no period, use count or explicit maximum')
  }
}

export function isTokenRoleName(name: string): boolean {
  return (
    name.length <= aclNameLengthMax && /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/.test(name)
  )
}

export function restrictsPolicies(role: TokenRoleSpec): boolean {
  const { allowedPolicies, disallowedPolicies, allowedPolicyGlobs, disallowedPolicyGlobs } = role
  return [allowedPolicies, disallowedPolicies, allowedPolicyGlobs, disallowedPolicyGlobs].some(
    ({ length }) => length > 0,
  )
}

/** Whether a token by the role may have this alias, which is lower-case. */
export function allowsEntityAlias(role: TokenRoleSpec, alias: string): boolean {
  return (role.allowedEntityAliases ?? []).some((glob) => matches(glob, alias))
}

/** null: the role gives these policies. Else the first one that it does not. */
export function refusedPolicy(role: TokenRoleSpec, policies: readonly string[]): string | null {
  const { allowedPolicies, disallowedPolicies, allowedPolicyGlobs, disallowedPolicyGlobs } = role
  const isLimited = allowedPolicies.length > 0 || allowedPolicyGlobs.length > 0
  const refuses = (policy: string): boolean => {
    if (disallowedPolicies.includes(policy)) return true
    if (disallowedPolicyGlobs.some((glob) => matches(glob, policy))) return true
    if (!isLimited || allowedPolicies.includes(policy)) return false
    return !allowedPolicyGlobs.some((glob) => matches(glob, policy))
  }
  return policies.find(refuses) ?? null
}

/** `*` is any run of characters. In time linear in both, but for their product at worst: neither is longer than a name. */
function matches(glob: string, text: string): boolean {
  const [head = '', ...rest] = glob.split('*')
  const tail = rest.pop()
  if (tail === undefined) return glob === text
  if (!text.startsWith(head)) return false
  let at = head.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - tail.length >= at && text.endsWith(tail)
}

function refused(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
