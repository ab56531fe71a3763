/** Reads of the settings. */
import type { Reader } from '../../fsm/domain.ts'
import { defaultSettings, type SchedulerSettingsRow } from './model.ts'
import { schedulerSettings, settingsKey } from './table.ts'

/** The defaults, of index 0, as long as nobody changed them. */
export function settingsOf(reader: Pick<Reader, 'get'>): SchedulerSettingsRow {
  const row = reader.get(schedulerSettings, settingsKey)
  return row ?? { ...defaultSettings, createIndex: 0, modifyIndex: 0 }
}
