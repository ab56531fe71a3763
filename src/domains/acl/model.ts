/**
 * Access control: tokens with their policies and roles. A token is two things: the accessor, a name for it that is no
 * secret, and the secret, of which the cluster keeps a hash and nothing else.
 */
import { Type, type Static } from 'typebox'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { MusterError } from '../../lib/errors.ts'
import { TimeMs } from '../define.ts'
import { EntityId } from '../entities/model.ts'
import { Meta } from '../namespaces/model.ts'
import { policyBytesMax } from './policy-source-model.ts'

/** The policy of requests that come without a token. */
export const anonymousPolicy = 'anonymous'

export const aclNameLengthMax = 128
/** A UUID has 36 characters, a hash 43. */
export const accessorLengthMax = 64
export const hashLengthMax = 64
/** Named at one place: by an operator for a token or a role, in a configuration, in a mapping. */
export const policiesPerTokenMax = 64
/** Of a token that a login or another token made: they come from several places. */
export const policiesPerIssuedTokenMax = 1_024
export const rolesPerTokenMax = 64
export const cidrsPerTokenMax = 64
/** `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128` has 49 characters. */
export const cidrLengthMax = 64
export const mountLengthMax = 256
/** A distinguished name, or the name of a service account with its namespace. */
export const aliasLengthMax = 1_024
/** `auth/<mount>/login/<name>` of the longest. */
export const pathLengthMax = 2_048
/** A mount's path and an alias. */
export const issuedNameLengthMax = 1_536
export const descriptionBytesMax = 512
export const tokenNameBytesMax = 256
export const ttlMsMin = 1_000
export const ttlMsMax = 10 * 365 * 24 * 60 * 60_000

/**
 * Of a secret that a person chooses for the first token. It is kept as a plain SHA-256, which is as good as the secret is
 * long and random: nothing slows a guess down.
 */
export const secretLengthMin = 32
export const secretLengthMax = 256

/** Parts of keys: what is longer must never reach an entry. */
export const Accessor = Type.String({ maxLength: accessorLengthMax })
export const AclName = Type.String({ maxLength: aclNameLengthMax })
export const TokenName = Type.String({ maxLength: tokenNameBytesMax })
export const MountId = Type.String({ maxLength: accessorLengthMax })
export const Description = Type.String({ maxLength: descriptionBytesMax })
const Names = (maxItems: number) => Type.Immutable(Type.Array(AclName, { maxItems }))
export const PolicyNames = Names(policiesPerTokenMax)
const IssuedPolicyNames = Names(policiesPerIssuedTokenMax)
export const RoleNames = Names(rolesPerTokenMax)

/** management: everything is allowed. */
export const TokenType = Type.Enum(['client', 'management'])
export type TokenType = Static<typeof TokenType>

export const NewToken = Type.Object({
  /** SHA-256 of the secret, base64url. */
  hash: Type.String({ maxLength: hashLengthMax }),
  accessor: Accessor,
  name: TokenName,
  description: Description,
  type: TokenType,
  policies: PolicyNames,
  roles: RoleNames,
  createTimeMs: TimeMs,
  /** From then on it is worth nothing; null: never. */
  expirationTimeMs: Type.Union([Type.Null(), TimeMs]),
})

export type NewToken = Readonly<Static<typeof NewToken>>

export const LifetimeMs = Type.Integer({ minimum: 0, maximum: ttlMsMax })

/** How a token is renewed. Its end is the row's `expirationTimeMs`, which a renewal moves. */
const Lease = record({
  /** What the token was given when it was made. */
  ttlMs: LifetimeMs,
  renewable: Type.Boolean(),
  /** Each renewal gives this much, without a maximum; null: the token is not periodic. */
  periodMs: Type.Union([Type.Null(), LifetimeMs]),
  /** No renewal goes beyond `createTimeMs` and this; null: no limit of its own. */
  explicitMaxTtlMs: Type.Union([Type.Null(), LifetimeMs]),
  /** null: never renewed. */
  renewTimeMs: Type.Union([Type.Null(), TimeMs]),
})

/** The command version from which on all servers end tokens with their parents. */
export const tokenParentsVersion = 5

/** The command version from which on all servers know leases, uses, networks and mounts of tokens. */
export const issuedTokensVersion = 6

/** The command version from which on all servers compare a write of a role or a policy with what its proposer saw. */
export const comparedWritesVersion = 17

/** The command version from which on all servers know tokens with more than `policiesPerTokenMax` policies. */
export const manyPoliciesVersion = 19

/** The command version whose programs all let policies be named as Vault's clients do. Older ones refuse such names as wrong. */
export const vaultNamesVersion = 20

/** Tokens above a token. A request with it may look at a few rows for each. */
export const ancestorsMax = 64

/** Members of tokens that are not an operator's. A row without one of them has the meaning that all rows had before these members came. */
export const issuedMembers = {
  /** Absent: service. A batch token is not renewed and makes no tokens. */
  kind: Type.Optional(Type.Enum(['service', 'batch'])),
  /** Accessor of the token that this one was made with and ends with. Absent: this token is an orphan. */
  parent: Type.Optional(Accessor),
  /** Absent: the token is not renewed. */
  lease: Type.Optional(Lease),
  /** Requests that the token may still make. Absent: not limited. */
  usesLeft: Type.Optional(Count),
  /** Networks that the token may be used from. Absent: from everywhere. */
  boundCidrs: Type.Optional(
    Type.Immutable(
      Type.Array(Type.String({ maxLength: cidrLengthMax }), {
        minItems: 1,
        maxItems: cidrsPerTokenMax,
      }),
    ),
  ),
  metadata: Type.Optional(Meta),
  /** The login method that the token came from, and who logged in. Absent: an operator or another token made it. */
  issuer: Type.Optional(
    record({
      mount: Type.String({ maxLength: mountLengthMax }),
      /** Drawn when the mount is enabled: a mount of the same path that comes later has another one. */
      mountId: MountId,
      alias: Type.String({ maxLength: aliasLengthMax }),
    }),
  ),
  /** The request that made the token, without `/v1/`: `auth/ldap/login/ada`. Absent: a token of an operator. */
  path: Type.Optional(Type.String({ maxLength: pathLengthMax })),
  /** The role of the token endpoints that it was made by; a renewal reads the role again. */
  tokenRole: Type.Optional(AclName),
  /** Who the token stands for. Absent: nobody in particular, or it was made below `entitiesVersion`. */
  entityId: Type.Optional(EntityId),
}

/** Of tokens that are not an operator's, shown as their display name. */
const IssuedName = Type.String({ maxLength: issuedNameLengthMax })

/** As the log has it: without what the entry gives it. */
export const IssuedToken = Type.Object({
  ...NewToken.properties,
  ...issuedMembers,
  name: IssuedName,
  policies: IssuedPolicyNames,
})
export type IssuedToken = Readonly<Static<typeof IssuedToken>>

export const TokenRow = record({
  ...NewToken.properties,
  ...issuedMembers,
  name: IssuedName,
  policies: IssuedPolicyNames,
  ...indexes,
})
export type TokenRow = Readonly<Static<typeof TokenRow>>

/** What is drawn for each token. */
export type DrawnMember = 'hash' | 'accessor'

/** All that a token may be, but for what is drawn for it and what the log gives it. */
export type TokenSpec = Omit<TokenRow, DrawnMember | 'createIndex' | 'modifyIndex'>

/** Of each token that ends with something else, by accessor: what finds the tokens above it, and the mount of the first. */
export const TokenParentRow = record({
  accessor: Accessor,
  /** Absent: an orphan, which its mount's end ends. */
  parent: Type.Optional(Accessor),
  /** Of the login method that the token came from. Absent: it did not come from one. */
  mountId: Type.Optional(MountId),
})
export type TokenParentRow = Readonly<Static<typeof TokenParentRow>>

/** When the token is worth nothing any more; Infinity: never. */
export function endOf({ expirationTimeMs, createTimeMs, lease }: TokenRow): number {
  const explicitMaxTtlMs = lease?.explicitMaxTtlMs ?? Infinity
  return Math.min(expirationTimeMs ?? Infinity, createTimeMs + explicitMaxTtlMs)
}

export const PolicyRow = record({
  name: AclName,
  description: Description,
  /** The text as it was written. */
  rules: Type.String({ maxLength: policyBytesMax }),
  ...indexes,
})
export type PolicyRow = Readonly<Static<typeof PolicyRow>>

export const RoleRow = record({
  name: AclName,
  description: Description,
  policies: PolicyNames,
  ...indexes,
})
export type RoleRow = Readonly<Static<typeof RoleRow>>

export const BootstrapRow = record({
  id: Type.Literal('bootstrap'),
  accessor: Accessor,
  /** What an operator writes down to be allowed once more. */
  index: Count,
})
export type BootstrapRow = Readonly<Static<typeof BootstrapRow>>

/** Throws `invalid_argument`. */
export function checkAclName(what: 'policy' | 'role', name: string): void {
  if (isAclName(name)) return
  throw new MusterError(
    'invalid_argument',
    `the name of a ${what} is 1 to 128 letters, digits, hyphens and underscores`,
  )
}

/**
 * As clients of Vault name policies, `team/dev`: what a mapping or a token may name too. The commands of all versions take such names.
 * Throws `invalid_argument`.
 */
export function checkVaultPolicyName(name: string): void {
  const isBounded = name.length <= aclNameLengthMax && name === name.trim()
  const isPlain = !/^\/|\/$|\p{Cc}|\p{Cs}|\ufffd/u.test(name)
  if (name !== '' && isBounded && isPlain) return
  throw new MusterError(
    'invalid_argument',
    `the name of a policy is 1 to ${aclNameLengthMax} printable characters, without a slash or a blank at either end`,
  )
}

/**
 * The leader may be of a program that refuses such a name as wrong: so the server that is asked refuses it, until all know it.
 * Throws `not_implemented`.
 */
export function assertVaultNameIsKnown(name: string, commandVersion: number): void {
  if (commandVersion >= vaultNamesVersion || isAclName(name)) return
  throw new MusterError(
    'not_implemented',
    `until every server is at command version ${vaultNamesVersion}, the name of a policy is 1 to 128 letters, digits, hyphens and underscores: once all servers run this program the leader raises it within seconds`,
  )
}

function isAclName(name: string): boolean {
  return /^[a-zA-Z0-9_-]{1,128}$/.test(name)
}

/** As it is stored. Throws `invalid_argument`. */
export function checkDescription(
  text: string,
  what = 'Description',
  bytesMax = descriptionBytesMax,
) {
  const checked = text.toWellFormed()
  if (Buffer.byteLength(checked) > bytesMax) {
    throw new MusterError('invalid_argument', `${what} may have at most ${bytesMax} bytes`)
  }
  return checked
}

/** Each once, sorted. Throws `invalid_argument`. */
export function checkNames(
  what: 'policy' | 'role',
  names: readonly string[],
  namesMax: number,
): readonly string[] {
  const distinct = [...new Set(names)].sort()
  for (const name of distinct) {
    if (what === 'policy') checkVaultPolicyName(name)
    else checkAclName(what, name)
  }
  if (distinct.length <= namesMax) return distinct
  throw new MusterError(
    'invalid_argument',
    `at most ${namesMax} may be named, here are ${distinct.length}`,
  )
}

/** Throws `invalid_argument`; the text never shows the secret. */
export function checkSecret(secret: string): void {
  const { length } = secret
  if (length >= secretLengthMin && length <= secretLengthMax && /^[\x21-\x7e]+$/.test(secret))
    return
  throw new MusterError(
    'invalid_argument',
    `a secret is ${secretLengthMin} to ${secretLengthMax} random visible ASCII characters`,
  )
}
