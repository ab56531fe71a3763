/** Whether a group still fits on a node beside what runs there, and with which ports. */
import {
  memoryUnlimitedMb,
  type AllocatedPort,
  type AllocatedResources,
} from '../domains/allocations/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import { memoryNoLimit } from '../domains/jobs/task-model.ts'
import type { Random } from '../lib/random.ts'
import { sumsOf } from '../domains/allocations/taken-model.ts'
import type { NodeUsage, Taken } from './node-usage.ts'
import { assignPorts, wantedPorts, type WantedPorts } from './ports.ts'
import type { ScheduledNode } from './scheduled-node.ts'

/** What a group takes wherever it goes. */
export type Demand = {
  readonly tasks: AllocatedResources['tasks']
  readonly taken: Taken
  readonly ports: WantedPorts
}

/** `oversubscribes`: tasks may use more memory than is reserved for them. */
export function demandOf(group: TaskGroup, oversubscribes: boolean): Demand {
  const tasks = group.Tasks.map(({ Name, Resources: { CPU, MemoryMB, MemoryMaxMB = 0 } }) => {
    const memoryMaxMb = MemoryMaxMB === memoryNoLimit ? memoryUnlimitedMb : MemoryMaxMB
    return {
      task: Name,
      cpuMhz: Math.max(0, CPU),
      memoryMb: Math.max(0, MemoryMB),
      ...(oversubscribes && memoryMaxMb > MemoryMB && { memoryMaxMb }),
    }
  })
  const diskMb = Math.max(0, group.EphemeralDisk.SizeMB)
  return { tasks, taken: sumsOf({ tasks, diskMb, ports: [] }), ports: wantedPorts(group) }
}

/** What counts as taken on a node while a plan is made. */
export type Load = {
  readonly taken: Taken
  hasPort(port: number): boolean
}

/** What runs on a node, and what a plan makes of it. */
export class PlannedLoad {
  /** With what the plan places. */
  readonly now: ChangedLoad
  /** And once what the plan stops has ended, with what then is to be placed. */
  readonly later: ChangedLoad

  constructor(usage: NodeUsage) {
    this.now = new ChangedLoad(usage)
    this.later = new ChangedLoad(usage)
  }

  place(taken: Taken, ports: readonly AllocatedPort[]): void {
    this.now.add(taken, ports)
    this.later.add(taken, ports)
  }

  /** What is placed waits for its end. */
  end(resources: AllocatedResources): void {
    this.now.free(resources)
    this.later.free(resources)
  }
}

class ChangedLoad implements Load {
  readonly #usage: NodeUsage
  readonly #added = new Set<number>()
  readonly #freed = new Set<number>()
  #taken: Taken

  constructor(usage: NodeUsage) {
    this.#usage = usage
    this.#taken = usage.taken
  }

  get taken(): Taken {
    return this.#taken
  }

  hasPort(port: number): boolean {
    return this.#added.has(port) || (!this.#freed.has(port) && this.#usage.hasPort(port))
  }

  add(taken: Taken, ports: readonly AllocatedPort[]): void {
    this.#taken = plus(this.#taken, taken)
    for (const { value } of ports) this.#added.add(value)
  }

  free(resources: AllocatedResources): void {
    this.#taken = minus(this.#taken, sumsOf(resources))
    for (const { value } of resources.ports) this.#freed.add(value)
  }
}

/** A load without what may end. */
export class LoadWithout implements Load {
  readonly #load: Load
  readonly #freed = new Set<number>()
  #taken: Taken

  constructor(load: Load) {
    this.#load = load
    this.#taken = load.taken
  }

  get taken(): Taken {
    return this.#taken
  }

  hasPort(port: number): boolean {
    return !this.#freed.has(port) && this.#load.hasPort(port)
  }

  free(resources: AllocatedResources): void {
    this.#taken = minus(this.#taken, sumsOf(resources))
    for (const { value } of resources.ports) this.#freed.add(value)
  }

  /** What was freed. */
  giveBack(resources: AllocatedResources): void {
    this.#taken = plus(this.#taken, sumsOf(resources))
    for (const { value } of resources.ports) this.#freed.delete(value)
  }
}

export type Fitting =
  | { readonly type: 'fits'; readonly ports: readonly AllocatedPort[]; readonly after: Taken }
  | { readonly type: 'exhausted'; readonly dimension: string }

export function fit(
  node: ScheduledNode,
  load: Load,
  { taken, ports }: Demand,
  random: Random,
): Fitting {
  const after = plus(load.taken, taken)
  if (after.cpuMhz > node.cpuMhz) return { type: 'exhausted', dimension: 'cpu' }
  if (after.memoryMb > node.memoryMb) return { type: 'exhausted', dimension: 'memory' }
  if (after.diskMb > node.diskMb) return { type: 'exhausted', dimension: 'disk' }
  if (ports.fixed.length + ports.dynamic.length === 0) return { type: 'fits', ports: [], after }
  const assigned = assignPorts(ports, {
    address: node.address,
    isTaken: (port) => node.reservedPorts.has(port) || load.hasPort(port),
    random,
  })
  return assigned.type === 'exhausted' ? assigned : { type: 'fits', ports: assigned.ports, after }
}

function plus(left: Taken, right: Taken): Taken {
  return {
    cpuMhz: left.cpuMhz + right.cpuMhz,
    memoryMb: left.memoryMb + right.memoryMb,
    diskMb: left.diskMb + right.diskMb,
  }
}

function minus(left: Taken, right: Taken): Taken {
  return {
    cpuMhz: left.cpuMhz - right.cpuMhz,
    memoryMb: left.memoryMb - right.memoryMb,
    diskMb: left.diskMb - right.diskMb,
  }
}
