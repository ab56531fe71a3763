/** Reads of what a mount of the orchestrator method keeps. */
import type { Reader } from '../../fsm/domain.ts'
import { roleKey, type ConfigRow, type RoleRow } from './model.ts'
import { orchestratorConfigs, orchestratorRoles } from './table.ts'

/** Null: it was never written. */
export function configOf(reader: Pick<Reader, 'get'>, mountId: string): ConfigRow | null {
  return reader.get(orchestratorConfigs, [mountId]) ?? null
}

/** Null: there is no such role. */
export function roleOf(reader: Pick<Reader, 'get'>, mountId: string, name: string): RoleRow | null {
  const key = roleKey(name)
  return key === null ? null : (reader.get(orchestratorRoles, [mountId, key]) ?? null)
}
