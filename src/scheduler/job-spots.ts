/**
 * Where the allocations of a job are that stay, those that are to be replaced and are not yet, and those that a plan adds: by node
 * and group, and by properties of nodes.
 */
import { targetOf } from './node-targets.ts'
import type { ScheduledNode } from './scheduled-node.ts'

type Spot = { readonly node: ScheduledNode; readonly group: string }

export class JobSpots {
  /** By node, then by group. */
  readonly #byNode = new Map<string, { node: ScheduledNode; groups: Map<string, number> }>()
  /** By target, then by group, then by value; made when first asked for. */
  readonly #byProperty = new Map<string, Map<string, Map<string, number>>>()

  add(node: ScheduledNode, group: string): void {
    this.#change({ node, group }, 1)
  }

  /** One that was added. */
  remove(node: ScheduledNode, group: string): void {
    this.#change({ node, group }, -1)
  }

  /** `group` null: of the whole job. */
  onNode(nodeId: string, group: string | null): number {
    const groups = this.#byNode.get(nodeId)?.groups
    if (groups === undefined) return 0
    return group === null ? sum(groups.values()) : (groups.get(group) ?? 0)
  }

  withProperty(target: string, value: string, group: string | null): number {
    const groups = this.#countsOf(target)
    if (group !== null) return groups.get(group)?.get(value) ?? 0
    return sum(Array.from(groups.values(), (values) => values.get(value) ?? 0))
  }

  /** How many of the group there are by the value of a property. */
  byValue(target: string, group: string): ReadonlyMap<string, number> {
    return this.#countsOf(target).get(group) ?? new Map<string, number>()
  }

  #change(spot: Spot, by: number): void {
    const { node, group } = spot
    const here = this.#byNode.get(node.id) ?? { node, groups: new Map<string, number>() }
    this.#byNode.set(node.id, here)
    increase(here.groups, group, by)
    for (const [target, counts] of this.#byProperty) count(counts, target, spot, by)
  }

  #countsOf(target: string): Map<string, Map<string, number>> {
    const known = this.#byProperty.get(target)
    if (known !== undefined) return known
    const counts = new Map<string, Map<string, number>>()
    for (const { node, groups } of this.#byNode.values()) {
      for (const [group, spots] of groups) count(counts, target, { node, group }, spots)
    }
    this.#byProperty.set(target, counts)
    return counts
  }
}

function count(
  groups: Map<string, Map<string, number>>,
  target: string,
  spot: Spot,
  by: number,
): void {
  const value = targetOf(target, spot.node)
  if (value === undefined) return
  const values = groups.get(spot.group) ?? new Map<string, number>()
  groups.set(spot.group, values)
  increase(values, value, by)
}

function increase(counts: Map<string, number>, key: string, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}
