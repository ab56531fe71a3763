/** The leader ends drains that have nothing left to stop. A drain is a part of the state: a new leader carries on with it. */
import { periodic, type Running } from '../../lib/periodic.ts'
import type { Provided } from '../../rpc/services.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'
import type { appliedCommands } from '../sessions/services.ts'
import { completeDrains, setDrain } from './commands.ts'
import { isDrained, nodesPerEntryMax } from './model.ts'
import { nodeById, nodesWithPrefix } from './queries.ts'

const roundMs = 60_000
const retryMs = 500

export function startDrains(
  context: DutyContext & { readonly applied: Provided<typeof appliedCommands> },
): Running {
  const { clock, log, view, propose, applied } = context
  const draining = new Set<string>()
  let isRead = false
  const readAll = () =>
    onView(view, async (reader) => {
      for await (const page of nodesWithPrefix(reader, '')) {
        for (const { id, drain } of page) if (drain !== null) draining.add(id)
      }
      isRead = true
    })
  const unsubscribe = applied.onCommand(setDrain, ({ outcome }) => {
    if (outcome.type !== 'changed' || outcome.row.drain === null) return
    draining.add(outcome.row.id)
    rounds.wake()
  })
  const rounds = periodic({
    clock,
    log,
    failure: 'drains of nodes could not be ended',
    everyMs: roundMs,
    retryMs,
    round: async () => {
      if (!isRead) await readAll()
      while (draining.size > 0) {
        const looked = [...draining].slice(0, nodesPerEntryMax)
        const over = await onView(view, async (reader) =>
          looked.filter((id) => {
            const row = nodeById(reader, id)
            return row !== null && isDrained(row)
          }),
        )
        if (over.length > 0) {
          const nowMs = Math.floor(clock.wallMs())
          await propose(completeDrains, { nodes: over.map((id) => ({ id })), nowMs })
        }
        for (const id of looked) draining.delete(id)
      }
    },
  })
  return {
    stop() {
      unsubscribe()
      return rounds.stop()
    },
  }
}
