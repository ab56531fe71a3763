/** The change of the settings. */
import { Type } from 'typebox'
import { commandsByType, defineCommand, put } from '../define.ts'
import { settledWorkloadsVersion } from '../evaluations/model.ts'
import { SchedulerSettings, type SchedulerSettingsRow } from './model.ts'
import { settingsOf } from './queries.ts'
import { schedulerSettings } from './table.ts'

export const SetSettings = Type.Object({
  settings: SchedulerSettings,
  /** The modify index that must stand, 0 for never changed; null: whatever stands. */
  cas: Type.Union([Type.Null(), Type.Integer({ minimum: 0 })]),
})

export type SetSettingsOutcome = { readonly changed: boolean; readonly row: SchedulerSettingsRow }

export const setSettings = defineCommand({
  type: 'schedulerSettings.set',
  since: settledWorkloadsVersion,
  args: SetSettings,
  load: (reader) => settingsOf(reader),
  apply: ({ index }, { settings, cas }, before) => {
    const holds = cas === null || cas === before.modifyIndex
    const createIndex = before.createIndex === 0 ? index : before.createIndex
    const row = holds ? { ...settings, createIndex, modifyIndex: index } : before
    const outcome: SetSettingsOutcome = { changed: holds, row }
    return { changes: holds ? [put(schedulerSettings, row)] : [], outcome }
  },
})

export const settingsCommands = commandsByType([setSettings])
