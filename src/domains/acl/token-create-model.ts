/** What a caller may ask for when it makes a token with its own, and what comes of it. Pure: the leader gives the rows and the time. */
import { MusterError } from '../../lib/errors.ts'
import { defaultPolicyName, rootPolicy } from './built-in-policy-model.ts'
import { lifetimeAtLogin, systemLifetimes } from './lifetime-model.ts'
import { tokenNameBytesMax, type TokenRow, type TokenSpec } from './model.ts'
import { issuedPolicies } from './token-parameters-model.ts'
import {
  allowsEntityAlias,
  refusedPolicy,
  restrictsPolicies,
  type TokenRoleRow,
} from './token-role-model.ts'

export type TokenWish = {
  /** Empty: those of the caller's token, or of the role. */
  readonly policies: readonly string[]
  readonly ttlMs: number
  readonly explicitMaxTtlMs: number
  readonly periodMs: number
  readonly numUses: number
  readonly renewable: boolean
  readonly metadata: readonly (readonly [string, string])[]
  readonly displayName: string
  /** Empty: as the role says, else service. */
  readonly type: string
  readonly noParent: boolean
  readonly noDefaultPolicy: boolean
  /** Lower-case; absent or empty: none. */
  readonly entityAlias?: string
}

export type Maker = {
  readonly row: TokenRow
  /** Policies of its own and of its roles. */
  readonly policies: readonly string[]
  /** It may give itself everything anyhow, or has sudo on the path it asks. */
  readonly isSudo: boolean
}

export type Made = { readonly spec: TokenSpec; readonly warnings: readonly string[] }

/** `orphan`: asked of the endpoint that makes orphans. Throws `invalid_argument`. */
export function tokenOfWish(
  wish: TokenWish,
  maker: Maker,
  role: TokenRoleRow | null,
  orphan: boolean,
  nowMs: number,
): Made {
  if (maker.row.kind === 'batch') throw refused('batch tokens cannot create more tokens')
  if (maker.row.usesLeft !== undefined) {
    throw refused('a token with a limited number of uses cannot create more tokens')
  }
  assertMayAsk(wish, maker, role)
  assertMayHaveAlias(wish, role)
  const kind = kindOf(wish.type, role)
  const policies = policiesOfWish(wish, maker, role)
  const isRoot = policies.includes(rootPolicy)
  if (isRoot && maker.row.type !== 'management') {
    throw refused('root tokens may not be created without a root token as parent')
  }
  if (isRoot && kind === 'batch') throw refused('batch tokens cannot be root tokens')
  const asked = askedLifetime(wish, role)
  const numUses =
    role !== null && role.numUses > 0 ? least(role.numUses, wish.numUses) : wish.numUses
  if (kind === 'batch') {
    if (numUses > 0) throw refused('batch tokens cannot have a use count')
    if (asked.periodMs > 0) throw refused('batch tokens cannot be periodic')
    if (asked.explicitMaxTtlMs > 0) throw refused('batch tokens cannot have an explicit maximum')
  }
  const { ttlMs, explicitMaxTtlMs, periodMs, warnings } = lifetimeAtLogin(asked, systemLifetimes)
  const isEndless = isRoot && asked.ttlMs + asked.periodMs + asked.explicitMaxTtlMs === 0
  if (isEndless && maker.row.expirationTimeMs !== null) {
    throw refused('a root token that expires cannot create a root token that does not')
  }
  // By a role only the role decides: a caller who may use it need not be allowed to make orphans.
  const isOrphan = role === null ? orphan || wish.noParent : role.orphan
  const boundCidrs =
    role !== null && role.boundCidrs.length > 0 ? role.boundCidrs : maker.row.boundCidrs
  const renewable = kind === 'service' && !isEndless && wish.renewable && role?.renewable !== false
  const spec: TokenSpec = {
    name: displayNameOf(wish.displayName),
    description: '',
    type: isRoot ? 'management' : 'client',
    policies: isRoot ? [] : policies,
    roles: inherits(wish, role) ? maker.row.roles : [],
    createTimeMs: nowMs,
    expirationTimeMs: isEndless ? null : nowMs + ttlMs,
    ...(!isEndless && {
      lease: { ttlMs, renewable, periodMs, explicitMaxTtlMs, renewTimeMs: null },
    }),
    ...(kind === 'batch' && { kind }),
    ...(!isOrphan && { parent: maker.row.accessor }),
    // With an alias of its own the token gets another entity afterwards.
    ...(!isOrphan && maker.row.entityId !== undefined && { entityId: maker.row.entityId }),
    ...(numUses > 0 && { usesLeft: numUses }),
    ...(boundCidrs !== undefined && { boundCidrs }),
    ...(wish.metadata.length > 0 && { metadata: wish.metadata }),
    path: pathOf(orphan, role),
    ...(role !== null && { tokenRole: role.name }),
  }
  const ignored = wish.noParent && !isOrphan ? [noParentIgnored] : []
  const overruled = wish.type !== '' && wish.type !== kind ? [typeIgnored(kind)] : []
  return { spec, warnings: [...warnings, ...ignored, ...overruled] }
}

const noParentIgnored = 'no_parent is ignored: whether tokens of a role are orphans is its "orphan"'

function typeIgnored(kind: 'service' | 'batch'): string {
  return `type is ignored: by its "token_type" the role makes ${kind} tokens`
}

/** What the role decides by itself is ignored in the wish, so it needs no right. */
function assertMayAsk(
  { noParent, periodMs }: TokenWish,
  { isSudo }: Maker,
  role: TokenRoleRow | null,
): void {
  if (isSudo) return
  if (noParent && role === null) {
    throw refused('root or sudo privileges are required to create an orphan token')
  }
  const roleDecides = role !== null && role.periodMs > 0
  if (periodMs > 0 && !roleDecides) {
    throw refused('root or sudo privileges are required to create a periodic token')
  }
}

function assertMayHaveAlias({ entityAlias = '' }: TokenWish, role: TokenRoleRow | null): void {
  if (entityAlias === '') return
  if (role === null) throw refused('entity_alias goes with a role: use token/create/<role>')
  if (!allowsEntityAlias(role, entityAlias)) {
    throw refused('the role does not give this entity_alias: see its allowed_entity_aliases')
  }
}

function kindOf(type: string, role: TokenRoleRow | null): 'service' | 'batch' {
  if (type !== '' && type !== 'service' && type !== 'batch') {
    throw refused('type must be service or batch')
  }
  const ofRole = role?.type ?? 'default-service'
  if (ofRole === 'service' || ofRole === 'batch') return ofRole
  if (type !== '') return type
  return ofRole === 'default-batch' ? 'batch' : 'service'
}

/** The caller's own policies, and so its roles too. */
function inherits(wish: TokenWish, role: TokenRoleRow | null): boolean {
  return wish.policies.length === 0 && (role === null || !restrictsPolicies(role))
}

function policiesOfWish(
  wish: TokenWish,
  maker: Maker,
  role: TokenRoleRow | null,
): readonly string[] {
  const asked = issuedPolicies(wish.policies)
  const own = maker.row.type === 'management' ? [rootPolicy] : maker.policies
  const noDefault = wish.noDefaultPolicy || role?.noDefaultPolicy === true
  const finished = (policies: readonly string[], withDefault: boolean) => {
    if (policies.includes(rootPolicy)) return policies
    const kept = policies.filter((policy) => policy !== defaultPolicyName || !noDefault)
    return withDefault && !noDefault ? issuedPolicies([...kept, defaultPolicyName]) : kept
  }
  if (role !== null && restrictsPolicies(role)) {
    const isOpen = role.allowedPolicies.length === 0 && role.allowedPolicyGlobs.length === 0
    // Those of the caller's roles are written out: what a role gets later is not looked at again.
    const inherited = isOpen ? [...new Set(own)].sort() : issuedPolicies(role.allowedPolicies)
    const policies = asked.length > 0 ? asked : inherited
    const most = policies.filter((policy) => policy !== defaultPolicyName)
    const bad = refusedPolicy(role, most)
    if (bad !== null) throw refused(`the role does not give the policy ${JSON.stringify(bad)}`)
    const refusesDefault = isDisallowed(role, defaultPolicyName)
    const given = isOpen ? policies : asked
    if (given.includes(defaultPolicyName) && refusesDefault) {
      throw refused('the role does not give the policy "default"')
    }
    return finished(policies, !refusesDefault)
  }
  if (asked.length === 0)
    return finished(maker.row.type === 'management' ? own : maker.row.policies, false)
  if (maker.isSudo) return finished(asked, true)
  const lacking = asked.find((policy) => !own.includes(policy))
  if (lacking !== undefined) throw refused('child policies must be a subset of the parent')
  return finished(asked, own.includes(defaultPolicyName))
}

/** By its name or a glob, whatever the role allows. */
function isDisallowed(role: TokenRoleRow, policy: string): boolean {
  return refusedPolicy({ ...role, allowedPolicies: [], allowedPolicyGlobs: [] }, [policy]) !== null
}

/** A role's period goes before the one that is asked for; of two maxima the smaller one counts. */
function askedLifetime(wish: TokenWish, role: TokenRoleRow | null) {
  const { ttlMs, explicitMaxTtlMs, periodMs } = wish
  const none = { maxTtlMs: 0 }
  if (role === null) return { ...none, ttlMs, explicitMaxTtlMs, periodMs }
  return {
    ...none,
    ttlMs,
    explicitMaxTtlMs: least(role.explicitMaxTtlMs, explicitMaxTtlMs),
    periodMs: role.periodMs > 0 ? role.periodMs : periodMs,
  }
}

/** 0: no limit. */
function least(left: number, right: number): number {
  return left === 0 || right === 0 ? Math.max(left, right) : Math.min(left, right)
}

function displayNameOf(name: string): string {
  if (name === '') return 'token'
  return `token-${name.replaceAll(/[^a-zA-Z0-9-]/g, '-')}`.slice(0, tokenNameBytesMax)
}

function pathOf(orphan: boolean, role: TokenRoleRow | null): string {
  if (role === null) return orphan ? 'auth/token/create-orphan' : 'auth/token/create'
  const suffix = role.pathSuffix === '' ? '' : `/${role.pathSuffix}`
  return `auth/token/create/${role.name}${suffix}`
}

function refused(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
