/** What `rpc` needs of access control, declared here; `domains/acl` gives its form. */
import type { Reader } from '../fsm/domain.ts'
import type { Caller, LeastRight, MadeUntil, Requirement } from './method.ts'

/** What one caller may do, decided on the state as it was when the caller was resolved. */
export interface Permissions {
  /** Of the token; absent for callers without one. */
  readonly accessor?: string
  /** Of a token that is stored nowhere. */
  readonly madeUntil?: MadeUntil
  /**
   * What `may` follows from: callers with the same object get the same answer to every requirement. Absent: it is not
   * known whose rights are equal.
   */
  readonly rights?: object
  /** Wall-clock ms: then the caller has to be resolved anew. Absent: what the caller may do has no end that is known. */
  readonly endMs?: number
  may(requirement: Requirement): boolean
  /** Whether there may be anything that this right is for. Absent: there may. */
  maySome?(right: LeastRight): boolean
  /** What a refusal names: `'key:write' on "app"`. Absent: it names nothing. */
  readonly missing?: (requirement: Requirement) => string
}

export interface Authorizer {
  /** Throws `unauthenticated` when the token is not known. Called again after a long sleep. */
  resolve(caller: Caller): Permissions | Promise<Permissions>
  /**
   * Reads all that the caller's permissions follow from, so that a waiting request can be woken when they change. Absent:
   * they never do.
   */
  touch?(reader: Reader, caller: Caller): void
  /**
   * Spends a use of the caller's token, where those are limited, before the request is handled. Null: there is nothing to wait
   * for, as for all other tokens. Rejects as `resolve` does. Absent: no token has a limit.
   */
  settle?(caller: Caller): Promise<unknown> | null
}

const everything: Permissions = { rights: {}, may: () => true }

/** For a cluster without access control. */
export const allowAll: Authorizer = { resolve: () => everything }

/** Whether there may be anything that all of these rights are for. */
export function maySeeSome(permissions: Permissions, rights: readonly LeastRight[]): boolean {
  return rights.every((right) => permissions.maySome?.(right) ?? true)
}

export function hasOneOf(permissions: Permissions, rights: readonly LeastRight[]): boolean {
  return rights.some((right) => permissions.maySome?.(right) ?? true)
}
