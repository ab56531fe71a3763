/** Changes of the storm brake by operators and by the leader's clock; nodes that are lost and return change it in their own entries. */
import { Type } from 'typebox'
import { commandsByType, defineCommand, put, TimeMs } from '../define.ts'
import type { Applied, Change } from '../../fsm/domain.ts'
import { Count } from '../../fsm/row-schema.ts'
import { settledWorkloadsVersion } from '../evaluations/model.ts'
import {
  brakeAfter,
  BrakeSettings,
  releasedBrake,
  withSettings,
  type BrakeRow,
  type Storm,
} from './brake-model.ts'
import { brakeOf } from './brake-queries.ts'
import { stormBrake } from './brake-table.ts'
import { isAway, isMeantToGo, type NodeRow } from './model.ts'

export type BrakeOutcome = { readonly changed: boolean; readonly row: BrakeRow }

export const SetBrake = Type.Object({
  settings: BrakeSettings,
  /** The modify index that must stand, 0 for never changed; null: whatever stands. */
  cas: Type.Union([Type.Null(), Count]),
})

export const setBrake = defineCommand({
  type: 'nodes.setBrake',
  since: settledWorkloadsVersion,
  args: Type.Object({
    ...SetBrake.properties,
    accessor: Type.String({ maxLength: 64 }),
    nowMs: TimeMs,
  }),
  load: (reader) => brakeOf(reader),
  apply: ({ index }, { settings, cas, accessor, nowMs }, before): Applied<BrakeOutcome> => {
    if (cas !== null && cas !== before.modifyIndex) return unchanged(before)
    const row = withSettings(before, { settings, accessor }, { index, nowMs })
    return { changes: [put(stormBrake, row)], outcome: { changed: true, row } }
  },
})

/** Nothing, where it is not on, or on for another storm. */
export const releaseBrake = defineCommand({
  type: 'nodes.releaseBrake',
  since: settledWorkloadsVersion,
  args: Type.Object({
    /** null: whichever it is. */
    storm: Type.Union([Type.Null(), Count]),
    cause: Type.Enum(['time', 'operator']),
    accessor: Type.String({ maxLength: 64 }),
    nowMs: TimeMs,
  }),
  load: (reader) => brakeOf(reader),
  apply: ({ index }, { storm, cause, accessor, nowMs }, before): Applied<BrakeOutcome> => {
    if (before.on === null || (storm !== null && storm !== before.storm)) return unchanged(before)
    const row = releasedBrake(before, { cause, accessor }, { index, nowMs })
    return { changes: [put(stormBrake, row)], outcome: { changed: true, row } }
  },
})

export const brakeCommands = commandsByType([setBrake, releaseBrake])

function unchanged(row: BrakeRow): Applied<BrakeOutcome> {
  return { changes: [], outcome: { changed: false, row } }
}

/** Of a node that is away from here on: what its row says of that. */
export function lossOf(
  before: NodeRow,
  left: true | undefined,
  nowMs: number,
  storm: Storm | null,
): Pick<NodeRow, 'lost'> {
  if (before.lost !== undefined) return { lost: before.lost }
  if (storm === null || left === true || isAway(before) || isMeantToGo(before)) return {}
  return { lost: { storm: storm.brake.storm, timeMs: nowMs } }
}

/** `row` null: the node is forgotten. */
type NodeChange = { readonly before: NodeRow; readonly row: NodeRow | null }

/** Of an entry that changes nodes. */
export function brakeChanges(
  storm: Storm | null,
  changes: readonly NodeChange[],
  following: number,
  now: { readonly index: number; readonly nowMs: number },
): readonly Change[] {
  if (storm === null) return []
  const { brake, fromMs } = storm
  const counts = (row: NodeRow | null): boolean =>
    row?.lost?.storm === brake.storm && row.lost.timeMs >= fromMs
  const stands = (row: NodeRow | null): boolean => row !== null && !isAway(row)
  let [lost, standing] = [0, 0]
  for (const { before, row } of changes) {
    lost += Number(counts(row)) - Number(counts(before))
    standing += Number(stands(row)) - Number(stands(before))
  }
  const after = brakeAfter(storm, { lost, standing, following }, now)
  return after === null ? [] : [put(stormBrake, after)]
}
