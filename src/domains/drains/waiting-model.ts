/** What a drain waits for: each allocation that its node still has, and why. */
import { isTerminal, type AllocationRow } from '../allocations/model.ts'
import { groupKeyOf, type Draining, type DrainingNode, type GroupRoom } from './step-model.ts'

export type Waiting = {
  readonly row: AllocationRow
  readonly kind: Draining['kind']
  readonly reason: string
}

/** `blockedBy`: the evaluation that waits for room for its job; null: none does. */
export function waitingOn(
  { node, left }: DrainingNode,
  groups: ReadonlyMap<string, GroupRoom>,
  blockedBy: (row: AllocationRow) => string | null,
): readonly Waiting[] {
  const ignoresSystem = node.drain?.ignoreSystemJobs === true
  const concerned = left.filter(({ kind }) => kind !== 'system' || !ignoresSystem)
  return concerned.map(({ row, kind }) => {
    const group = groups.get(groupKeyOf(row))
    return { row, kind, reason: reasonOf({ row, kind }, group, blockedBy(row)) }
  })
}

function reasonOf(
  { row, kind }: Draining,
  group: GroupRoom | undefined,
  blocked: string | null,
): string {
  if (isTerminal(row)) return 'it was told to stop, and its agent has not said yet that it ended'
  if (row.migrate) {
    if (blocked === null) return 'it is to move: the scheduler looks for another place'
    return `no other node has a place for it: see evaluation ${blocked}`
  }
  if (kind === 'batch') return 'batch work may run to its end, until the deadline of the drain'
  if (kind === 'system') return 'system work is stopped once all other work is gone'
  if (group === undefined) return 'it is stopped by the scheduler: its group is no more'
  const { judged, stay } = group
  const room = judged - stay
  const next = room > 0 ? `up to ${room} move at the next step` : 'one more must be up first'
  return `of its group ${judged} are known to be healthy or not, and ${stay} have to stay: ${next}`
}
