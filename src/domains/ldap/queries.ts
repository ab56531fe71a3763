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

export function userOf(reader: Pick<Reader, 'get'>, mountId: string, key: string): UserRow | null {
  return reader.get(ldapUsers, [mountId, key]) ?? null
}

/** As `userOf`, for a reader that is never parked: where no user has policies or groups of the own, none is looked for. */
export function userAtLogin(
  reader: Pick<Reader, 'get' | 'tableIndex'>,
  mountId: string,
  key: string,
): UserRow | null {
  return wasNeverWritten(reader, ldapUsers) ? null : userOf(reader, mountId, key)
}
