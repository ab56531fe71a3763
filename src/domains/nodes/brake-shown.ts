/** The storm brake as clients read it, and as readers of events are told of it. */
import { dateText } from '../../lib/date-text.ts'
import { formatDurationMs } from '../../lib/duration.ts'
import type { BrakeSeen } from './brake-methods.ts'
import type { BrakeRow } from './brake-model.ts'

export function shownBrake({ storm, heldEvaluations }: BrakeSeen) {
  const { brake, lost, standing } = storm
  return {
    ...shownRow(brake),
    LostNodes: lost,
    Nodes: lost + standing,
    HeldEvaluations: heldEvaluations,
  }
}

/** With the nodes as they were counted when it went on. */
export function shownBrakeEvent(brake: BrakeRow) {
  const { lost, nodes } = brake.on ?? { lost: 0, nodes: 0 }
  return { ...shownRow(brake), LostNodes: lost, Nodes: nodes }
}

function shownRow({ on, released, ...brake }: BrakeRow) {
  const untilMs = on?.untilMs ?? null
  return {
    On: on !== null,
    Since: on === null ? null : dateText(on.sinceMs),
    Until: untilMs === null ? null : dateText(untilMs),
    LastRelease: released === null ? null : shownRelease(released),
    SharePercent: brake.sharePercent,
    MinNodes: brake.nodesMin,
    Window: formatDurationMs(brake.windowMs),
    MaxHold: formatDurationMs(brake.holdMs),
    CreateIndex: brake.createIndex,
    ModifyIndex: brake.modifyIndex,
  }
}

function shownRelease({ timeMs, cause, accessor }: NonNullable<BrakeRow['released']>) {
  return { Time: dateText(timeMs), Cause: cause, AccessorID: accessor }
}
