/** The one row of the configuration; absent until it was changed. */
import type { Table } from '../../fsm/domain.ts'
import { AutopilotRow } from './model.ts'

export const autopilotKey = ['config'] as const

export const autopilot: Table<AutopilotRow> = {
  name: 'autopilot',
  row: AutopilotRow,
  key: () => autopilotKey,
}
