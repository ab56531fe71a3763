/** The change of the configuration. */
import { Type } from 'typebox'
import { commandsByType, defineCommand, put } from '../define.ts'
import { AutopilotConfig, type AutopilotRow } from './model.ts'
import { autopilotOf } from './queries.ts'
import { autopilot } from './table.ts'

export const SetAutopilot = Type.Object({
  config: AutopilotConfig,
  /** The modify index that must stand, 0 for never changed; null: whatever stands. */
  cas: Type.Union([Type.Null(), Type.Integer({ minimum: 0 })]),
})

export type SetAutopilotOutcome = { readonly changed: boolean; readonly row: AutopilotRow }

export const setAutopilot = defineCommand({
  type: 'autopilot.set',
  args: SetAutopilot,
  load: (reader) => autopilotOf(reader),
  apply: ({ index }, { config, cas }, before) => {
    const holds = cas === null || cas === before.modifyIndex
    const createIndex = before.createIndex === 0 ? index : before.createIndex
    const row = holds ? { ...config, createIndex, modifyIndex: index } : before
    const outcome: SetAutopilotOutcome = { changed: holds, row }
    return { changes: holds ? [put(autopilot, row)] : [], outcome }
  },
})

export const autopilotCommands = commandsByType([setAutopilot])
