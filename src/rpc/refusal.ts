/**
 * A refusal, and what it tells: whose right is missing and which one, with the name that the caller itself sent. Never
 * a secret, and nothing of what the state holds. The texts keep the words that clients of Consul and Nomad look for.
 */
import { MusterError } from '../lib/errors.ts'
import type { LeastRight, Requirement } from './method.ts'

/** Permissions, or the context of a method. */
type Asker = {
  /** Absent or null: a caller without a token. */
  readonly accessor?: string | null
  may(requirement: Requirement): boolean
  readonly missing?: ((requirement: Requirement) => string) | undefined
}

/**
 * Throws `permission_denied`. `instead`: what to name where the requirement follows from the state, so that the refusal is the
 * same whether or not the thing exists.
 */
export function mustMay(asker: Asker, requirement: Requirement, instead?: string): void {
  if (asker.may(requirement)) return
  throw lacking(asker, instead ?? asker.missing?.(requirement) ?? '')
}

/** For callers that have none of these groups of rights to anything: `permission_denied`, naming the rights. */
export function lacksAll(asker: Asker, groups: readonly (readonly LeastRight[])[]): MusterError {
  const named = groups.map((rights) =>
    rights.map(({ resource, access }) => `'${resource}:${access}'`).join(' and '),
  )
  return lacking(asker, [...new Set(named)].join(' or '))
}

function lacking({ accessor }: Asker, missing: string): MusterError {
  const who =
    accessor === undefined || accessor === null
      ? 'the request has no token, and anonymous requests lack'
      : `token with AccessorID '${accessor}' lacks`
  return denied(missing === '' ? 'a permission is missing' : `${who} permission ${missing}`)
}

export function denied(reason: string): MusterError {
  return new MusterError('permission_denied', `Permission denied: ${reason}`)
}

/** Nomad's clients look for the first words, Consul's for those in parentheses. */
export function unknownToken(): MusterError {
  return new MusterError(
    'unauthenticated',
    'ACL token not found: the token is unknown, was deleted or has expired (ACL not found)',
  )
}
