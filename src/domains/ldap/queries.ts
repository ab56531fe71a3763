/** Reads of configurations and local mappings. */
import type { Reader } from '../../fsm/domain.ts'
import { wasNeverWritten } from '../define.ts'
import type { ConfigRow, GroupRow, UserRow } from './model.ts'
import { ldapConfigs, ldapGroups, ldapUsers } from './table.ts'

export function configOf(reader: Pick<Reader, 'get'>, mountId: string): ConfigRow | null {
  return reader.get(ldapConfigs, [mountId]) ?? null
}

export function groupOf(
  reader: Pick<Reader, 'get'>,
  mountId: string,
  key: string,
): GroupRow | null {
  return reader.get(ldapGroups, [mountId, key]) ?? null
}

/** By the first of `keys` that there is a user by. */
export function userOf(
  reader: Pick<Reader, 'get'>,
  mountId: string,
  keys: readonly string[],
): UserRow | null {
  for (const key of keys) {
    const row = reader.get(ldapUsers, [mountId, key])
    if (row !== undefined) return row
  }
  return null
}

/** As `userOf`, for a reader that is never parked: where no user has policies or groups of the own, none is looked for. */
export function userAtLogin(
  reader: Pick<Reader, 'get' | 'tableIndex'>,
  mountId: string,
  keys: readonly string[],
): UserRow | null {
  return wasNeverWritten(reader, ldapUsers) ? null : userOf(reader, mountId, keys)
}
