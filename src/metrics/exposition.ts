/** The families as Prometheus' text, by prom-client. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { DistributionFamily, Metrics, ReadFamily } from './metrics.ts'

export type MetricsText = { readonly type: string; readonly text: string }

export class Exposition {
  readonly #metrics: Metrics
  readonly #registry = new Registry()
  #registered = 0

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  async text(): Promise<MetricsText> {
    const { families } = this.#metrics
    for (const family of families.slice(this.#registered)) {
      this.#registry.registerMetric(
        family.type === 'distribution' ? new SpreadHistogram(family) : gaugeOrCounter(family),
      )
    }
    this.#registered = families.length
    return { type: this.#registry.contentType, text: await this.#registry.metrics() }
  }
}

function gaugeOrCounter({ type, name, help, labelNames, read }: ReadFamily): Gauge | Counter {
  const common = { name, help, labelNames: [...labelNames], registers: [] }
  if (type === 'gauge') {
    return new Gauge({
      ...common,
      collect() {
        empty(this, labelNames)
        for (const { labels, value } of read()) this.set(labels, value)
      },
    })
  }
  return new Counter({
    ...common,
    collect() {
      empty(this, labelNames)
      for (const { labels, value } of read()) this.inc(labels, value)
    },
  })
}

/** A reset alone leaves a series without labels at 0, which says something that nobody said. */
function empty(metric: Gauge | Counter, labelNames: readonly string[]): void {
  metric.reset()
  if (labelNames.length === 0) metric.remove({})
}

/**
 * prom-client's own histogram looks its labels up at each observation, which costs a request more than all of its
 * routing. This one gets the values only when a scraper asks.
 */
class SpreadHistogram extends Histogram {
  readonly #family: DistributionFamily

  constructor(family: DistributionFamily) {
    const { name, help, labelNames, bounds } = family
    super({ name, help, labelNames: [...labelNames], buckets: [...bounds], registers: [] })
    this.#family = family
  }

  /** What the registry and `get` of the base class read from, though its types do not say so. */
  async getForPromString() {
    const { name, help } = this.#family
    return { name, help, type: 'histogram', values: valuesOf(this.#family), aggregator: 'sum' }
  }
}

type Value = { metricName: string; labels: Record<string, string>; value: number }

function valuesOf({ name, series }: DistributionFamily): Value[] {
  return series.flatMap(({ labels, bounds, buckets, sum, count }) => {
    let below = 0
    const cumulative = bounds.map((bound, at) => {
      below += buckets[at] ?? 0
      return {
        metricName: `${name}_bucket`,
        labels: { le: String(bound), ...labels },
        value: below,
      }
    })
    return [
      ...cumulative,
      { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
      { metricName: `${name}_sum`, labels: { ...labels }, value: sum },
      { metricName: `${name}_count`, labels: { ...labels }, value: count },
    ]
  })
}
