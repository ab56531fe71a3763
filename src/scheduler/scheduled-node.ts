/**
 * The scheduler: which node runs what. Everything here is pure: it takes values and returns values, with the time, the seed and
 * the new ids handed in, so the same input gives the same plan.
 *
 * Of domains `scheduler` knows models alone. The domain `scheduling` reads the state, calls `schedule`, and proposes the plan. A
 * plan is optimistic: applying it checks it against the newest state, so a stale input costs an attempt and never breaks a limit.
 *
 * This file is a node as placement sees it, derived once from its row.
 */
import type { NodeRow } from '../domains/nodes/model.ts'
import { reservedPorts } from '../domains/nodes/ports-model.ts'

export type ScheduledNode = {
  readonly id: string
  readonly name: string
  readonly datacenter: string
  readonly nodeClass: string
  /** Nodes of one class agree on every constraint that does not look at a single machine. */
  readonly computedClass: string
  readonly attributes: ReadonlyMap<string, string>
  readonly meta: ReadonlyMap<string, string>
  /** Without what is reserved. */
  readonly cpuMhz: number
  readonly memoryMb: number
  readonly diskMb: number
  readonly reservedPorts: ReadonlySet<number>
  /** Where its ports are reached. */
  readonly address: string
  /** Detected and healthy. */
  readonly drivers: ReadonlySet<string>
  readonly readOnlyByVolume: ReadonlyMap<string, boolean>
  readonly networkModes: ReadonlySet<string>
}

export function scheduledNode({ id, computedClass, spec }: NodeRow): ScheduledNode {
  const { resources, reserved } = spec
  return {
    id,
    name: spec.name,
    datacenter: spec.datacenter,
    nodeClass: spec.nodeClass,
    computedClass,
    attributes: new Map(spec.attributes),
    meta: new Map(spec.meta),
    cpuMhz: Math.max(0, resources.cpuMhz - reserved.cpuMhz),
    memoryMb: Math.max(0, resources.memoryMb - reserved.memoryMb),
    diskMb: Math.max(0, resources.diskMb - reserved.diskMb),
    reservedPorts: reservedPorts(reserved.ports),
    address: resources.networks[0]?.ip ?? spec.address,
    drivers: new Set(
      spec.drivers.flatMap(({ name, detected, healthy }) => (detected && healthy ? [name] : [])),
    ),
    readOnlyByVolume: new Map(spec.hostVolumes.map(({ name, readOnly }) => [name, readOnly])),
    networkModes: new Set(resources.nodeNetworks.map(({ mode }) => mode)),
  }
}

/** Whether it takes new work. */
export function takesWork({ status, eligible, drain }: NodeRow): boolean {
  return status === 'ready' && eligible && drain === null
}
