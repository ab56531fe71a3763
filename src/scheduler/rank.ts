/**
 * How good a node is for a group, from -1 to 1: the mean of the scores that say something of it. Nomad's names and formulas,
 * where its tools show them.
 */
import type { JobSpec, TaskGroup } from '../domains/jobs/model.ts'
import type { Affinity } from '../domains/jobs/placement-model.ts'
import type { SchedulerSettings } from '../domains/scheduler-settings/model.ts'
import type { JobSpots } from './job-spots.ts'
import type { Taken } from './node-usage.ts'
import { isMet, type Patterns } from './operands.ts'
import type { ScheduledNode } from './scheduled-node.ts'
import { SpreadScore } from './spread-score.ts'

export type Score = { readonly name: string; readonly value: number }
export type Ranked = { readonly total: number; readonly scores: readonly Score[] }

/** Of packing: a node that is full to the brim. */
const packedMax = 18

export class Ranking {
  readonly #group: TaskGroup
  readonly #affinities: readonly Affinity[]
  readonly #weights: number
  readonly #spreads: SpreadScore | null
  readonly #patterns: Patterns
  readonly #algorithm: SchedulerSettings['algorithm']

  constructor(
    job: JobSpec,
    group: TaskGroup,
    patterns: Patterns,
    algorithm: SchedulerSettings['algorithm'],
  ) {
    this.#group = group
    this.#algorithm = algorithm
    this.#patterns = patterns
    this.#affinities = [
      ...job.Affinities,
      ...group.Affinities,
      ...group.Tasks.flatMap(({ Affinities }) => Affinities),
    ]
    this.#weights = this.#affinities.reduce((sum, { Weight }) => sum + Math.abs(Weight), 0)
    const spreads = [...job.Spreads, ...group.Spreads]
    this.#spreads = spreads.length === 0 ? null : new SpreadScore(spreads, group)
  }

  /** One node is as likely as another to be the best, unless nodes differ in more than their load. */
  get looksAtMany(): boolean {
    return this.#affinities.length > 0 || this.#spreads !== null
  }

  /** `after`: what is taken of the node with the allocation there. */
  rank(
    node: ScheduledNode,
    options: {
      readonly after: Taken
      readonly spots: JobSpots
      readonly isPenalized: boolean
      /** See `Preempting.weight`; absent: nothing ends for it. */
      readonly preempts?: number
    },
  ): Ranked {
    const { after, spots, isPenalized, preempts } = options
    const fitted = this.#algorithm === 'spread' ? emptied(node, after) : packed(node, after)
    const scores: Score[] = [{ name: 'binpack', value: fitted }]
    const beside = spots.onNode(node.id, this.#group.Name)
    if (beside > 0) {
      const value = -Math.min(1, (beside + 1) / Math.max(1, this.#group.Count))
      scores.push({ name: 'job-anti-affinity', value })
    }
    if (isPenalized) scores.push({ name: 'node-reschedule-penalty', value: -1 })
    const drawn = this.#affinity(node)
    if (drawn !== 0) scores.push({ name: 'node-affinity', value: drawn })
    const spread = this.#spreads?.of(node, spots) ?? 0
    if (spread !== 0) scores.push({ name: 'allocation-spread', value: spread })
    if (preempts !== undefined) scores.push({ name: 'preemption', value: preempted(preempts) })
    const total = scores.reduce((sum, { value }) => sum + value, 0) / scores.length
    return { total, scores }
  }

  #affinity(node: ScheduledNode): number {
    if (this.#weights === 0) return 0
    let sum = 0
    for (const affinity of this.#affinities) {
      if (isMet(affinity, node, this.#patterns)) sum += affinity.Weight
    }
    return sum / this.#weights
  }
}

/** 1: it has nothing left. */
function packed(node: ScheduledNode, after: Taken): number {
  return Math.min(packedMax, Math.max(0, 20 - leftOf(node, after))) / packedMax
}

/** 1: it has all of it left. */
function emptied(node: ScheduledNode, after: Taken): number {
  return Math.min(packedMax, Math.max(0, leftOf(node, after) - 2)) / packedMax
}

/** From 2 to 20. What a node has none of counts as used up. */
function leftOf(node: ScheduledNode, after: Taken): number {
  const free = (used: number, all: number) => (all === 0 ? 0 : 1 - used / all)
  return 10 ** free(after.cpuMhz, node.cpuMhz) + 10 ** free(after.memoryMb, node.memoryMb)
}

/** A logistic curve: near 1 for what matters little, 0.5 for some twenty allocations of the highest priority. */
function preempted(weight: number): number {
  return 1 / (1 + Math.exp(0.0048 * (weight - 2_048)))
}
