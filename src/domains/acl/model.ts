/**
 * Access control: tokens with their policies and roles. A token is two things: the accessor, a name for it that is no
 * secret, and the secret, of which the cluster keeps a hash and nothing else.
 */
import { MusterError } from '../../lib/errors.ts'

/** The policy of requests that come without a token. */
export const anonymousPolicy = 'anonymous'

export const aclNameLengthMax = 128
/** A UUID has 36 characters, a hash 43. */
export const accessorLengthMax = 64
export const hashLengthMax = 64
export const policiesPerTokenMax = 64
export const rolesPerTokenMax = 64
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

export type TokenType = 'client' | 'management'

export type TokenRow = {
  /** SHA-256 of the secret, base64url. */
  readonly hash: string
  readonly accessor: string
  readonly name: string
  readonly description: string
  /** management: everything is allowed. */
  readonly type: TokenType
  readonly policies: readonly string[]
  readonly roles: readonly string[]
  readonly createTimeMs: number
  /** From then on it is worth nothing; null: never. */
  readonly expirationTimeMs: number | null
  readonly createIndex: number
  readonly modifyIndex: number
}

export type PolicyRow = {
  readonly name: string
  readonly description: string
  /** The text as it was written. */
  readonly rules: string
  readonly createIndex: number
  readonly modifyIndex: number
}

export type RoleRow = {
  readonly name: string
  readonly description: string
  readonly policies: readonly string[]
  readonly createIndex: number
  readonly modifyIndex: number
}

export type BootstrapRow = {
  /** Always `bootstrap`. */
  readonly id: string
  readonly accessor: string
  /** What an operator writes down to be allowed once more. */
  readonly index: number
}

/** Throws `invalid_argument`. */
export function checkAclName(what: 'policy' | 'role', name: string): void {
  if (/^[a-zA-Z0-9_-]{1,128}$/.test(name)) return
  throw new MusterError(
    'invalid_argument',
    `the name of a ${what} is 1 to 128 letters, digits, hyphens and underscores`,
  )
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
  for (const name of distinct) checkAclName(what, name)
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
    `a secret is ${secretLengthMin} to ${secretLengthMax} visible ASCII characters, drawn by chance`,
  )
}
