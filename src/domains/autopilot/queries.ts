/** Reads of the configuration. */
import type { Reader } from '../../fsm/domain.ts'
import { defaultAutopilot, type AutopilotRow } from './model.ts'
import { autopilot, autopilotKey } from './table.ts'

/** The defaults, of index 0, as long as nobody changed them. */
export function autopilotOf(reader: Reader): AutopilotRow {
  const row = reader.get(autopilot, autopilotKey)
  return row ?? { ...defaultAutopilot, createIndex: 0, modifyIndex: 0 }
}
