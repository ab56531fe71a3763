/** Ports of the host: which ones a group wants, and which ones it gets on a node. */
import type { AllocatedPort } from '../domains/allocations/model.ts'
import type { Network, Port } from '../domains/jobs/network-model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import { randomInteger, type Random } from '../lib/random.ts'

/** Where ports that are chosen come from; fixed ports may lie in it too. */
export const dynamicPortMin = 20_000
export const dynamicPortMax = 32_000
/** Draws before all ports are looked through. */
const drawsMax = 20

export type WantedPorts = {
  readonly fixed: readonly Port[]
  readonly dynamic: readonly Port[]
}

export function wantedPorts(group: TaskGroup): WantedPorts {
  const networks = networksOf(group)
  return {
    fixed: networks.flatMap(({ ReservedPorts }) => ReservedPorts),
    dynamic: networks.flatMap(({ DynamicPorts }) => DynamicPorts),
  }
}

/** Of the group, and of tasks as older job files have them. */
export function networksOf(group: TaskGroup): readonly Network[] {
  return [...group.Networks, ...group.Tasks.flatMap(({ Resources }) => Resources.Networks)]
}

export type AssignedPorts =
  | { readonly type: 'assigned'; readonly ports: readonly AllocatedPort[] }
  /** `dimension`: what is used up. */
  | { readonly type: 'exhausted'; readonly dimension: string }

/** `isTaken`: by another allocation, or reserved by the node. */
export function assignPorts(
  { fixed, dynamic }: WantedPorts,
  options: {
    readonly address: string
    readonly isTaken: (port: number) => boolean
    readonly random: Random
  },
): AssignedPorts {
  const { address, isTaken, random } = options
  const given = new Set<number>()
  const ports: AllocatedPort[] = []
  const give = ({ Label, To }: Port, value: number) => {
    given.add(value)
    ports.push({ label: Label, value, to: To === -1 ? value : Math.max(0, To), address })
  }
  for (const port of fixed) {
    if (isTaken(port.Value) || given.has(port.Value)) {
      const dimension = `network: reserved port collision ${port.Label}=${port.Value}`
      return { type: 'exhausted', dimension }
    }
    give(port, port.Value)
  }
  for (const port of dynamic) {
    const value = freePort((candidate) => isTaken(candidate) || given.has(candidate), random)
    if (value === null) {
      return { type: 'exhausted', dimension: 'network: dynamic port selection failed' }
    }
    give(port, value)
  }
  return { type: 'assigned', ports }
}

function freePort(isTaken: (port: number) => boolean, random: Random): number | null {
  for (let draw = 0; draw < drawsMax; draw += 1) {
    const port = randomInteger(random, dynamicPortMin, dynamicPortMax + 1)
    if (!isTaken(port)) return port
  }
  for (let port = dynamicPortMin; port <= dynamicPortMax; port += 1) {
    if (!isTaken(port)) return port
  }
  return null
}
