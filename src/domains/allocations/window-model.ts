/** For how long an allocation may be cut off with its node. */
import type { JobSpec, TaskGroup } from '../jobs/model.ts'
import { nsPerMs } from '../../lib/duration.ts'
import { isClientTerminal, type AllocationRow } from './model.ts'

/** An agent ends what is not to run on without servers no sooner: it would end what runs between two heartbeats. */
export const stopsAfterMsMin = 2_000

type Placed = Pick<AllocationRow, 'group' | 'clientStatus'>

/** `spec`: of the version that it runs; null: it is not known any more. Null: not at all. What never said that it runs is no loss. */
export function windowMsOf({ group, clientStatus }: Placed, spec: JobSpec | null): number | null {
  if (clientStatus === 'pending' || isClientTerminal({ clientStatus })) return null
  const windowNs = groupOf(group, spec)?.MaxClientDisconnect ?? null
  return windowNs === null ? null : Math.ceil(windowNs / nsPerMs)
}

export function groupOf(name: string, spec: JobSpec | null): TaskGroup | null {
  return spec?.TaskGroups.find(({ Name }) => Name === name) ?? null
}
