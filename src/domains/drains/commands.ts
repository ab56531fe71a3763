/** What drains propose, and after what they look again: commands of nodes and allocations. */
import type { OnCommand } from '../../fsm/domain.ts'
import { moveAllocations } from '../allocations/move-commands.ts'
import { applyPlan } from '../allocations/plan-commands.ts'
import { reportAllocations } from '../allocations/reported-commands.ts'
import { setDrain } from '../nodes/commands.ts'

export { moveAllocations, movedMax } from '../allocations/move-commands.ts'
export { completeDrains } from '../nodes/commands.ts'

/** `began`: a node begins to drain, or does so in another way. `changed`: allocations did. Returns the way to stop. */
export function observe(
  onCommand: OnCommand,
  { began, changed }: { readonly began: (node: string) => void; readonly changed: () => void },
): () => void {
  const unsubscribe = [
    onCommand(setDrain, ({ outcome }) => {
      if (outcome.type === 'changed' && outcome.row.drain !== null) began(outcome.row.id)
    }),
    onCommand(reportAllocations, changed),
    onCommand(applyPlan, changed),
    onCommand(moveAllocations, changed),
  ]
  return () => {
    for (const stop of unsubscribe) stop()
  }
}
