/** The counts that say why an allocation went where it did, or nowhere. */
import { scoreName, type Metrics } from '../domains/evaluations/model.ts'
import type { Ranked } from './rank.ts'
import type { ScheduledNode } from './scheduled-node.ts'

/** Best nodes whose scores are kept: every allocation holds them. */
const scoredNodesMax = 3
/** Distinct reasons, and classes. */
const reasonsMax = 64
const wordLengthMax = 256
const millionths = 1_000_000

export class MetricsCount {
  readonly #filtered = new Map<string, number>()
  readonly #classFiltered = new Map<string, number>()
  readonly #classExhausted = new Map<string, number>()
  readonly #dimensions = new Map<string, number>()
  readonly #best: { readonly node: string; readonly ranked: Ranked }[] = []
  #evaluated = 0
  #nodesFiltered = 0
  #exhausted = 0

  evaluated(): void {
    this.#evaluated += 1
  }

  filtered({ nodeClass }: ScheduledNode, reason: string): void {
    this.#nodesFiltered += 1
    increase(this.#filtered, reason)
    if (nodeClass !== '') increase(this.#classFiltered, nodeClass)
  }

  exhausted({ nodeClass }: ScheduledNode, dimension: string): void {
    this.#exhausted += 1
    increase(this.#dimensions, dimension)
    if (nodeClass !== '') increase(this.#classExhausted, nodeClass)
  }

  ranked(node: ScheduledNode, ranked: Ranked): void {
    const place = this.#best.findIndex((other) => other.ranked.total < ranked.total)
    if (place >= 0) this.#best.splice(place, 0, { node: node.id, ranked })
    else this.#best.push({ node: node.id, ranked })
    if (this.#best.length > scoredNodesMax) this.#best.pop()
  }

  /** `available`: ready nodes by datacenter. */
  result(available: Metrics['nodesAvailable'], tookUs: number): Metrics {
    return {
      nodesEvaluated: this.#evaluated,
      nodesFiltered: this.#nodesFiltered,
      nodesExhausted: this.#exhausted,
      nodesAvailable: available.slice(0, reasonsMax),
      classFiltered: pairs(this.#classFiltered),
      constraintFiltered: pairs(this.#filtered),
      classExhausted: pairs(this.#classExhausted),
      dimensionExhausted: pairs(this.#dimensions),
      scores: this.#best.flatMap(({ node, ranked }) =>
        [...ranked.scores, { name: scoreName, value: ranked.total }].map(
          ({ name, value }): Metrics['scores'][number] => [
            node,
            name,
            Math.round(value * millionths),
          ],
        ),
      ),
      coalescedFailures: 0,
      tookUs,
    }
  }
}

function increase(counts: Map<string, number>, word: string): void {
  const key = word.slice(0, wordLengthMax)
  if (counts.size >= reasonsMax && !counts.has(key)) return
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function pairs(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts]
}
