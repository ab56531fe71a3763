/**
 * What the allocations of a node take of it together: a row beside theirs, written in the entries that change it, so that a plan is
 * checked without reading all that runs there.
 */
import { Type, type Static } from 'typebox'
import type { Change, Table } from '../../fsm/domain.ts'
import { Count, record } from '../../fsm/row-schema.ts'
import { put, removeRow } from '../define.ts'
import { NodeId } from '../nodes/model.ts'
import {
  allocationsPerNodeMax,
  takesPlace,
  type AllocatedResources,
  type AllocationRow,
} from './model.ts'

/** Of one node: as many as there are, some of them twice while what has them is being replaced. */
export const portsPerNodeMax = 65_536

export const TakenRow = record({
  nodeId: NodeId,
  count: Type.Integer({ minimum: 0, maximum: allocationsPerNodeMax }),
  cpuMhz: Count,
  memoryMb: Count,
  diskMb: Count,
  /** One that two allocations have is there twice. */
  ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), { maxItems: portsPerNodeMax }),
})
export type TakenRow = Readonly<Static<typeof TakenRow>>

export const takenOfNodes: Table<TakenRow> = {
  name: 'takenOfNodes',
  row: TakenRow,
  key: ({ nodeId }) => [nodeId],
}

/** A node's row in the making: what is taken, as allocations come and go. */
export class Taken {
  /** How many have the port: two may for a moment, while one is being replaced. */
  readonly #ports = new Map<number, number>()
  #count: number
  #cpuMhz: number
  #memoryMb: number
  #diskMb: number
  #portCount = 0

  constructor(row: TakenRow | undefined) {
    this.#count = row?.count ?? 0
    this.#cpuMhz = row?.cpuMhz ?? 0
    this.#memoryMb = row?.memoryMb ?? 0
    this.#diskMb = row?.diskMb ?? 0
    for (const port of row?.ports ?? []) this.#countPort(port, 1)
  }

  get count(): number {
    return this.#count
  }

  get cpuMhz(): number {
    return this.#cpuMhz
  }

  get memoryMb(): number {
    return this.#memoryMb
  }

  get diskMb(): number {
    return this.#diskMb
  }

  get portCount(): number {
    return this.#portCount
  }

  hasPort(port: number): boolean {
    return this.#ports.has(port)
  }

  add(resources: AllocatedResources): void {
    this.#change(resources, 1)
  }

  remove(resources: AllocatedResources): void {
    this.#change(resources, -1)
  }

  row(nodeId: string): TakenRow {
    const ports = [...this.#ports].flatMap(([port, users]) => Array<number>(users).fill(port))
    return {
      nodeId,
      count: this.#count,
      cpuMhz: this.#cpuMhz,
      memoryMb: this.#memoryMb,
      diskMb: this.#diskMb,
      ports,
    }
  }

  #change(resources: AllocatedResources, by: 1 | -1): void {
    const { cpuMhz, memoryMb, diskMb } = sumsOf(resources)
    this.#count = changed(this.#count, by)
    this.#cpuMhz = changed(this.#cpuMhz, by * cpuMhz)
    this.#memoryMb = changed(this.#memoryMb, by * memoryMb)
    this.#diskMb = changed(this.#diskMb, by * diskMb)
    for (const { value } of resources.ports) this.#countPort(value, by)
  }

  #countPort(port: number, by: 1 | -1): void {
    const before = this.#ports.get(port) ?? 0
    if (before + by < 0) return
    this.#portCount += by
    if (before + by > 0) this.#ports.set(port, before + by)
    else this.#ports.delete(port)
  }
}

/** `rows`: of all nodes of `moves`, which are allocations before (null: there was none) and after an entry. */
export function takenChanges(
  rows: ReadonlyMap<string, TakenRow>,
  moves: Iterable<readonly [before: AllocationRow | null, after: AllocationRow]>,
): Change[] {
  const nodes = new Map<string, Taken>()
  for (const [before, after] of moves) {
    const took = before !== null && takesPlace(before)
    if (took === takesPlace(after)) continue
    const taken = nodes.get(after.nodeId) ?? new Taken(rows.get(after.nodeId))
    nodes.set(after.nodeId, taken)
    if (took) taken.remove(after.resources)
    else taken.add(after.resources)
  }
  return [...nodes].flatMap(([nodeId, taken]) => {
    const before = rows.get(nodeId)
    if (taken.count > 0) return [put(takenOfNodes, taken.row(nodeId))]
    return before === undefined ? [] : [removeRow(takenOfNodes, before)]
  })
}

export function sumsOf({ tasks, diskMb }: AllocatedResources): {
  readonly cpuMhz: number
  readonly memoryMb: number
  readonly diskMb: number
} {
  let cpuMhz = 0
  let memoryMb = 0
  for (const task of tasks) {
    cpuMhz += task.cpuMhz
    memoryMb += task.memoryMb
  }
  return { cpuMhz, memoryMb, diskMb }
}

/** Within what a row may have, also where an operator's archive has sums that are none. */
function changed(sum: number, by: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, sum + by))
}
