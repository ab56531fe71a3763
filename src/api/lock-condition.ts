/**
 * The lock that a write depends on, as any write may name it: `lock` and `lock_index` of the query, or the headers
 * `X-Service-Lock` (percent-encoded) and `X-Service-Lock-Index`.
 */
import { MusterError } from '../lib/errors.ts'
import { parseUnsigned } from '../lib/unsigned.ts'
import type { ApiRequest } from './route.ts'

export type NamedLock = { readonly key: string; readonly lockIndex: number }

/** Null when the request names no lock. 400 when it names half of one. */
export function lockOf(request: ApiRequest): NamedLock | null {
  const key = request.search.text('lock') ?? decoded(request.header('x-service-lock'))
  const lockIndex = lockIndexOf(request)
  if (key === null && lockIndex === null) return null
  if (key === null || key === '' || lockIndex === null) {
    throw new MusterError(
      'invalid_argument',
      'a write that depends on a lock names both the key (lock) and its LockIndex (lock_index)',
    )
  }
  return { key, lockIndex }
}

function lockIndexOf(request: ApiRequest): number | null {
  const asked = request.search.unsigned('lock_index')
  const header = request.header('x-service-lock-index')
  if (asked === null && header === null) return null
  const lockIndex = asked ?? parseUnsigned(header ?? '')
  if (lockIndex === undefined || lockIndex > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new MusterError('invalid_argument', 'lock_index must be the LockIndex of a key')
  }
  return Number(lockIndex)
}

function decoded(header: string | null): string | null {
  if (header === null) return null
  try {
    return decodeURIComponent(header)
  } catch {
    throw new MusterError('invalid_argument', 'X-Service-Lock has a broken percent escape')
  }
}
