/** The one row of the settings; absent until they were changed. */
import type { Table } from '../../fsm/domain.ts'
import { SchedulerSettingsRow } from './model.ts'

export const settingsKey = ['settings'] as const

export const schedulerSettings: Table<SchedulerSettingsRow> = {
  name: 'schedulerSettings',
  row: SchedulerSettingsRow,
  key: () => settingsKey,
}
