/** Spreads: whether one more allocation on a node brings the group closer to the shares that its job asks for. */
import type { TaskGroup } from '../domains/jobs/model.ts'
import type { Spread } from '../domains/jobs/placement-model.ts'
import type { JobSpots } from './job-spots.ts'
import { targetOf } from './node-targets.ts'
import type { ScheduledNode } from './scheduled-node.ts'

export class SpreadScore {
  readonly #spreads: readonly Spread[]
  readonly #group: TaskGroup
  readonly #weights: number

  constructor(spreads: readonly Spread[], group: TaskGroup) {
    this.#spreads = spreads
    this.#group = group
    this.#weights = spreads.reduce((sum, { Weight }) => sum + Weight, 0)
  }

  /** From -1 to 1. */
  of(node: ScheduledNode, spots: JobSpots): number {
    let sum = 0
    for (const spread of this.#spreads) {
      const value = targetOf(spread.Attribute, node)
      const counts = spots.byValue(spread.Attribute, this.#group.Name)
      const score = value === undefined ? -1 : this.#scoreOf(spread, value, counts)
      sum += (score * spread.Weight) / this.#weights
    }
    return Math.max(-1, Math.min(1, sum))
  }

  #scoreOf(spread: Spread, value: string, counts: ReadonlyMap<string, number>): number {
    const used = counts.get(value) ?? 0
    if (spread.SpreadTarget.length === 0) return evenly(used, counts)
    const share = shareOf(spread, value)
    const wanted = (share / 100) * this.#group.Count
    return wanted <= 0 ? -1 : Math.max(-1, (wanted - used - 1) / wanted)
  }
}

/** Without targets all values are to have as many: the one with most gets none. */
function evenly(used: number, counts: ReadonlyMap<string, number>): number {
  const most = Math.max(0, ...counts.values())
  return most === 0 ? 0 : 1 - (2 * used) / most
}

/** Values that are not named share what the named ones leave. */
function shareOf({ SpreadTarget }: Spread, value: string): number {
  const named = SpreadTarget.find(({ Value }) => Value === value)
  if (named !== undefined) return named.Percent
  return 100 - SpreadTarget.reduce((sum, { Percent }) => sum + Percent, 0)
}
