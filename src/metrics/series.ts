/**
 * What a server tells of itself in numbers: families of gauges, counters and distributions, read when a scraper asks.
 * `metrics` may import `lib` and prom-client. Parts that are measured declare what they tell as an interface of their own,
 * or are asked through one that is declared here.
 *
 * The folder guards: measured code pays for a few additions and no more. Labels are bound to a series once;
 * names, labels and text come together only when a scraper asks.
 *
 * This file is the data that is written to while requests run.
 */
import { assert } from '../lib/assert.ts'

export type Labels = Readonly<Record<string, string>>

/** What happened in one interval. Without any value, min and max are 0. */
export type Interval = {
  readonly count: number
  readonly sum: number
  readonly squares: number
  readonly min: number
  readonly max: number
}

/** From a fast disk's sync to a request that nearly timed out. */
export const latencyBoundsSeconds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

/** How values are spread: since the start by bounds, and in the interval by mean, extremes and deviation. */
export class Distribution {
  readonly labels: Labels
  /** Ascending, each inclusive. */
  readonly bounds: readonly number[]
  /** Values at most as large as the bound and above the one before; the last one: above all bounds. */
  readonly buckets: Float64Array
  /** count = the sum of all buckets */
  #count = 0
  #sum = 0
  #squares = 0
  #min = Infinity
  #max = -Infinity
  /** The totals when the interval began. */
  #before = { count: 0, sum: 0, squares: 0 }

  constructor(labels: Labels, bounds: readonly number[]) {
    assert(
      bounds.every((bound, at) => at === 0 || (bounds[at - 1] ?? 0) < bound),
      'bounds ascend',
    )
    this.labels = labels
    this.bounds = bounds
    this.buckets = new Float64Array(bounds.length + 1)
  }

  get count(): number {
    return this.#count
  }

  get sum(): number {
    return this.#sum
  }

  observe(value: number): void {
    const { bounds } = this
    let at = 0
    while (at < bounds.length && value > (bounds[at] as number)) at += 1
    this.buckets[at] = (this.buckets[at] as number) + 1
    this.#count += 1
    this.#sum += value
    this.#squares += value * value
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
  }

  /** The interval so far. */
  interval(): Interval {
    const count = this.#count - this.#before.count
    return {
      count,
      sum: this.#sum - this.#before.sum,
      squares: this.#squares - this.#before.squares,
      min: count === 0 ? 0 : this.#min,
      max: count === 0 ? 0 : this.#max,
    }
  }

  /** Ends the interval and begins the next. */
  roll(): Interval {
    const ended = this.interval()
    this.#before = { count: this.#count, sum: this.#sum, squares: this.#squares }
    this.#min = Infinity
    this.#max = -Infinity
    return ended
  }
}

/** A number that only grows, and its labels. */
export type Tally = { readonly labels: Labels; value: number }
