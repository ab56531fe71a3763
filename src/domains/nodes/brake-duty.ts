/** The leader releases a storm brake that has held long enough, and logs when one goes on and off. */
import type { OnCommand } from '../../fsm/domain.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'
import { releaseBrake, setBrake } from './brake-commands.ts'
import type { BrakeRow } from './brake-model.ts'
import { brakeOf } from './brake-queries.ts'
import { purgeNode, updateStatus } from './commands.ts'

/** Without a change or an end that is due. */
const roundMs = 60_000
const retryMs = 500

export function startBrake(context: DutyContext & { readonly onCommand: OnCommand }): Running {
  const { clock, log, view, propose, onCommand } = context
  /** null: this leader has not looked yet. */
  let told: BrakeRow | null = null
  const rounds = periodic({
    clock,
    log,
    failure: 'the storm brake could not be looked at',
    everyMs: roundMs,
    retryMs,
    round: async () => {
      const brake = onView(view, brakeOf)
      tell(brake)
      const untilMs = brake.on?.untilMs ?? null
      if (untilMs === null) return roundMs
      const leftMs = untilMs - clock.wallMs()
      if (leftMs > 0) return Math.min(roundMs, leftMs)
      const nowMs = Math.floor(clock.wallMs())
      await propose(releaseBrake, { storm: brake.storm, cause: 'time', accessor: '', nowMs })
      return 0
    },
  })
  const wake = (): void => rounds.wake()
  const unsubscribe = [
    onCommand(updateStatus, wake),
    onCommand(purgeNode, wake),
    onCommand(setBrake, wake),
    onCommand(releaseBrake, wake),
  ]

  function tell(brake: BrakeRow): void {
    const { on, released } = brake
    const wasOn = told?.on ?? null
    const isNew = told === null || told.on?.sinceMs !== on?.sinceMs
    told = brake
    if (on !== null && isNew) {
      log.warn('the storm brake is on: work of lost nodes is not replaced', {
        lost: on.lost,
        nodes: on.nodes,
        until: on.untilMs === null ? 'released' : new Date(on.untilMs).toISOString(),
      })
    } else if (on === null && wasOn !== null) {
      log.warn('the storm brake is released', { cause: released?.cause ?? '' })
    }
  }

  return {
    stop() {
      for (const stop of unsubscribe) stop()
      return rounds.stop()
    },
  }
}
