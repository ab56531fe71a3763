/**
 * The families of one server: declared once at start, read by the two forms in which they leave (`exposition.ts`,
 * `document.ts`). A name is Prometheus' name, with its unit at the end.
 */
import { assert } from '../lib/assert.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { Distribution, type Interval, type Labels, type Tally } from './series.ts'

export type Reading = { readonly labels: Labels; readonly value: number }

type Common = {
  readonly name: string
  /** One sentence for people. */
  readonly help: string
  readonly labelNames: readonly string[]
}

/** A gauge goes up and down, a counter only up. */
export type ReadFamily = Common & {
  readonly type: 'gauge' | 'counter'
  readonly read: () => readonly Reading[]
}

export type DistributionFamily = Common & {
  readonly type: 'distribution'
  readonly bounds: readonly number[]
  readonly series: readonly Distribution[]
}

export type Family = ReadFamily | DistributionFamily

/** What the last whole interval brought; before its first end, what the running one brought so far. */
export type IntervalReport = {
  readonly startWallMs: number
  readonly durationMs: number
  /** By family and labels. A counter's growth is its count and its sum. */
  readonly values: ReadonlyMap<Family, readonly (readonly [Labels, Interval])[]>
}

/** Enough to see what is going on now; longer times are the collector's business. */
export const intervalMs = 10_000

/** Series of one family; a label with more values than that is a defect. */
export const seriesMax = 2_000

export class Metrics {
  readonly #clock: Clock
  readonly #families: Family[] = []
  readonly #names = new Set<string>()
  #timer: Timer | null = null
  #startWallMs: number
  #startMs: number
  /** Counters when the interval began. */
  #before = new Map<Family, ReadonlyMap<string, number>>()
  #ended: IntervalReport | null = null

  constructor(clock: Clock) {
    this.#clock = clock
    this.#startWallMs = clock.wallMs()
    this.#startMs = clock.monotonicMs()
  }

  get families(): readonly Family[] {
    return this.#families
  }

  /** One number. `read` is called at each scrape; what it throws leaves the family out. */
  gauge(name: string, help: string, read: () => number): void {
    this.#add({ type: 'gauge', name, help, labelNames: [], read: unlabelled(read) })
  }

  gauges(family: Common & { readonly read: () => readonly Reading[] }): void {
    this.#add({ ...family, type: 'gauge', read: orNothing(family.read) })
  }

  counter(name: string, help: string, read: () => number): void {
    this.#add({ type: 'counter', name, help, labelNames: [], read: unlabelled(read) })
  }

  counters(family: Common & { readonly read: () => readonly Reading[] }): void {
    this.#add({ ...family, type: 'counter', read: orNothing(family.read) })
  }

  /** Returns what makes a counter's series, to be called once for each set of labels. */
  tallies(family: Common): (labels: Labels) => Tally {
    const tallies: Tally[] = []
    this.#add({ ...family, type: 'counter', read: () => tallies })
    return (labels) => {
      assert(tallies.length < seriesMax, `${family.name} has a label with too many values`)
      const tally = { labels, value: 0 }
      tallies.push(tally)
      return tally
    }
  }

  /** As `tallies`. */
  distributions(
    family: Common & { readonly bounds: readonly number[] },
  ): (labels: Labels) => Distribution {
    const series: Distribution[] = []
    this.#add({ ...family, type: 'distribution', series })
    return (labels) => {
      assert(series.length < seriesMax, `${family.name} has a label with too many values`)
      const distribution = new Distribution(labels, family.bounds)
      series.push(distribution)
      return distribution
    }
  }

  /** Begins to cut time into intervals. */
  start(): void {
    this.#timer = this.#clock.setTimer(intervalMs, () => {
      this.#roll()
      this.start()
    })
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  report(): IntervalReport {
    return this.#ended ?? this.#reportOf((series) => series.interval())
  }

  #roll(): void {
    this.#ended = this.#reportOf((series) => series.roll())
    this.#startWallMs = this.#clock.wallMs()
    this.#startMs = this.#clock.monotonicMs()
    this.#before = new Map(
      this.#families
        .filter((family): family is ReadFamily => family.type === 'counter')
        .map((family) => [
          family,
          new Map(family.read().map(({ labels, value }) => [JSON.stringify(labels), value])),
        ]),
    )
  }

  #reportOf(intervalOf: (series: Distribution) => Interval): IntervalReport {
    const values = new Map<Family, readonly (readonly [Labels, Interval])[]>()
    for (const family of this.#families) {
      if (family.type === 'distribution') {
        values.set(
          family,
          family.series.map((series) => [series.labels, intervalOf(series)]),
        )
      } else if (family.type === 'counter') {
        const before = this.#before.get(family)
        values.set(
          family,
          family.read().map(({ labels, value }) => {
            const growth = value - (before?.get(JSON.stringify(labels)) ?? 0)
            return [labels, growthOf(growth)]
          }),
        )
      }
    }
    const durationMs = this.#clock.monotonicMs() - this.#startMs
    return { startWallMs: this.#startWallMs, durationMs, values }
  }

  #add(family: Family): void {
    assert(!this.#names.has(family.name), `two families are called ${family.name}`)
    assert(/^[a-z][a-z0-9_]*$/.test(family.name), `${family.name} is a name`)
    this.#names.add(family.name)
    this.#families.push(family)
  }
}

/** Each step of a counter is 1; of one that counts seconds, all is one step: tools read the count as an integer. */
function growthOf(growth: number): Interval {
  if (!Number.isInteger(growth)) {
    return { count: 1, sum: growth, squares: growth * growth, min: growth, max: growth }
  }
  const step = growth === 0 ? 0 : 1
  return { count: growth, sum: growth, squares: growth, min: step, max: step }
}

const noLabels: Labels = {}

function unlabelled(read: () => number): () => readonly Reading[] {
  return orNothing(() => [{ labels: noLabels, value: read() }])
}

/** What cannot be told now (a store that is being closed) must not keep the rest from being told. */
function orNothing(read: () => readonly Reading[]): () => readonly Reading[] {
  return () => {
    try {
      return read()
    } catch {
      return []
    }
  }
}
