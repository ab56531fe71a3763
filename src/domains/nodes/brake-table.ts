/** The one row of the storm brake; absent until it went on or was set. */
import type { Table } from '../../fsm/domain.ts'
import { BrakeRow } from './brake-model.ts'

export const brakeKey = ['brake'] as const

export const stormBrake: Table<BrakeRow> = {
  name: 'stormBrake',
  row: BrakeRow,
  key: () => brakeKey,
}
