/** What is left of a node: its resources without what it keeps for itself and what its allocations take. */
import { isReservedPort } from '../nodes/ports-model.ts'
import type { NodeRow } from '../nodes/model.ts'
import { allocationsPerNodeMax, type AllocatedResources } from './model.ts'
import { portsPerNodeMax, sumsOf, type Taken } from './taken-model.ts'

/** What there is too little of for these; null: they fit. */
export function lackingOn(
  { spec }: NodeRow,
  taken: Taken,
  resources: AllocatedResources,
): string | null {
  const { resources: all, reserved } = spec
  const { cpuMhz, memoryMb, diskMb } = sumsOf(resources)
  if (taken.count >= allocationsPerNodeMax) return 'allocations'
  if (taken.cpuMhz + cpuMhz > all.cpuMhz - reserved.cpuMhz) return 'cpu'
  if (taken.memoryMb + memoryMb > all.memoryMb - reserved.memoryMb) return 'memory'
  if (taken.diskMb + diskMb > all.diskMb - reserved.diskMb) return 'disk'
  return lackingPort(reserved.ports, taken, resources)
}

function lackingPort(reserved: string, taken: Taken, { ports }: AllocatedResources): string | null {
  if (taken.portCount + ports.length > portsPerNodeMax) return 'ports'
  const occupied = ports.find(
    ({ value }) => taken.hasPort(value) || isReservedPort(reserved, value),
  )
  if (occupied !== undefined) return `port ${occupied.value}`
  const isTwice = new Set(ports.map(({ value }) => value)).size < ports.length
  return isTwice ? 'port, for two of it are one' : null
}
