/** What is left of a node: its resources without what it keeps for itself and what its allocations take. */
import { isReservedPort } from '../nodes/ports-model.ts'
import type { NodeRow } from '../nodes/model.ts'
import { allocationsPerNodeMax, type AllocatedResources } from './model.ts'

/** As sums are exact; what is above fits nowhere. */
const sumMax = Number.MAX_SAFE_INTEGER

export class NodeRoom {
  readonly #node: NodeRow
  readonly #ports = new Set<number>()
  #count = 0
  #cpuMhz = 0
  #memoryMb = 0
  #diskMb = 0

  constructor(node: NodeRow, taken: Iterable<AllocatedResources>) {
    this.#node = node
    for (const resources of taken) this.#add(resources)
  }

  /** Takes its part; or says what there is too little of, and takes nothing. */
  take(resources: AllocatedResources): string | null {
    const lacking = this.#lacking(resources)
    if (lacking === null) this.#add(resources)
    return lacking
  }

  #lacking(resources: AllocatedResources): string | null {
    const { resources: all, reserved } = this.#node.spec
    const { cpuMhz, memoryMb } = sumsOf(resources)
    if (this.#count >= allocationsPerNodeMax) return 'allocations'
    if (plus(this.#cpuMhz, cpuMhz) > all.cpuMhz - reserved.cpuMhz) return 'cpu'
    if (plus(this.#memoryMb, memoryMb) > all.memoryMb - reserved.memoryMb) return 'memory'
    if (plus(this.#diskMb, resources.diskMb) > all.diskMb - reserved.diskMb) return 'disk'
    const taken = resources.ports.find(
      ({ value }) => this.#ports.has(value) || isReservedPort(reserved.ports, value),
    )
    if (taken !== undefined) return `port ${taken.value}`
    const isTwice = new Set(resources.ports.map(({ value }) => value)).size < resources.ports.length
    return isTwice ? 'port, for two of it are one' : null
  }

  #add(resources: AllocatedResources): void {
    const { cpuMhz, memoryMb } = sumsOf(resources)
    this.#count += 1
    this.#cpuMhz = plus(this.#cpuMhz, cpuMhz)
    this.#memoryMb = plus(this.#memoryMb, memoryMb)
    this.#diskMb = plus(this.#diskMb, resources.diskMb)
    for (const { value } of resources.ports) this.#ports.add(value)
  }
}

function sumsOf({ tasks }: AllocatedResources): {
  readonly cpuMhz: number
  readonly memoryMb: number
} {
  return {
    cpuMhz: tasks.reduce((sum, task) => plus(sum, task.cpuMhz), 0),
    memoryMb: tasks.reduce((sum, task) => plus(sum, task.memoryMb), 0),
  }
}

/** Infinity where a number would not be exact any more: it is more than any node has. */
function plus(one: number, other: number): number {
  const sum = one + other
  return sum > sumMax ? Infinity : sum
}
