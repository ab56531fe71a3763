/** For how long an allocation may be cut off with its node, and how long a lost one may still run, where its agent ends it by itself. */
import type { JobSpec, TaskGroup } from '../jobs/model.ts'
import { nsPerMs } from '../../lib/duration.ts'
import { isClientTerminal, type AllocationRow } from './model.ts'

/** An agent ends what is not to run on without servers no sooner: it would end what runs between two heartbeats. */
export const stopsAfterMsMin = 2_000

/** Why one is stopped that was lost with its node. */
export const lostDescription = 'alloc is lost since its node is down'

type Placed = Pick<AllocationRow, 'group' | 'clientStatus'>

/** `spec`: of the version that it runs; null: it is not known any more. Null: not at all. What never said that it runs is no loss. */
export function windowMsOf({ group, clientStatus }: Placed, spec: JobSpec | null): number | null {
  if (clientStatus === 'pending' || isClientTerminal({ clientStatus })) return null
  const windowNs = groupOf(group, spec)?.MaxClientDisconnect ?? null
  return windowNs === null ? null : Math.ceil(windowNs / nsPerMs)
}

/**
 * How long a lost one is not replaced: its agent, which may live, ends its tasks by itself that long after its last heartbeat, and
 * they take their time to end. 0: it is replaced at once.
 */
export function endsWithinMs({ group }: Placed, spec: JobSpec | null): number {
  const found = groupOf(group, spec)
  const afterNs = found?.StopAfterClientDisconnect ?? null
  if (found === null || afterNs === null) return 0
  const ends = found.Tasks.map(({ KillTimeout, ShutdownDelay }) => KillTimeout + ShutdownDelay)
  const endsNs = (found.ShutdownDelay ?? 0) + Math.max(0, ...ends)
  return Math.max(stopsAfterMsMin, Math.ceil(afterNs / nsPerMs)) + Math.ceil(endsNs / nsPerMs)
}

/** Until when a lost one that was told to end may still run, so that nothing takes its place. 0: it ended. */
export function mayRunUntilMs(
  row: AllocationRow,
  specOf: (row: AllocationRow) => JobSpec | null,
): number {
  if (row.clientStatus !== 'lost' || row.desiredStatus === 'run') return 0
  if (row.desiredDescription !== lostDescription) return 0
  const mayRunMs = endsWithinMs(row, specOf(row))
  return mayRunMs === 0 ? 0 : row.modifyMs + mayRunMs
}

function groupOf(name: string, spec: JobSpec | null): TaskGroup | null {
  return spec?.TaskGroups.find(({ Name }) => Name === name) ?? null
}
