/**
 * The families as JSON, in the form that users of the workload scheduler know: gauges as they are now, counters and
 * samples of the last whole interval.
 */
import { intervalMs, type Metrics, type ReadFamily } from './metrics.ts'
import type { Interval, Labels } from './series.ts'

type GaugeEntry = { readonly Name: string; readonly Value: number; readonly Labels: Labels }

type SampleEntry = {
  readonly Name: string
  readonly Count: number
  /** Of the sum, per second. */
  readonly Rate: number
  readonly Sum: number
  readonly Min: number
  readonly Max: number
  readonly Mean: number
  readonly Stddev: number
  readonly Labels: Labels
}

export type MetricsDocument = {
  /** When the interval began. */
  readonly Timestamp: string
  readonly Gauges: readonly GaugeEntry[]
  readonly Points: readonly never[]
  readonly Counters: readonly SampleEntry[]
  readonly Samples: readonly SampleEntry[]
}

/** Counters and samples in which nothing happened are left out. */
export function metricsDocument(metrics: Metrics): MetricsDocument {
  const { families } = metrics
  const { startWallMs, durationMs, values } = metrics.report()
  const entriesOf = (type: 'counter' | 'distribution') =>
    families
      .filter((family) => family.type === type)
      .flatMap((family) =>
        (values.get(family) ?? [])
          .filter(([, { count }]) => count > 0)
          .map(([labels, interval]) =>
            sampleEntry(dotted(family.name), labels, interval, durationMs),
          ),
      )
  return {
    Timestamp: timestamp(startWallMs),
    Gauges: families
      .filter((family): family is ReadFamily => family.type === 'gauge')
      .flatMap(({ name, read }) =>
        read().map(({ labels, value }) => ({ Name: dotted(name), Value: value, Labels: labels })),
      ),
    Points: [],
    Counters: entriesOf('counter'),
    Samples: entriesOf('distribution'),
  }
}

function sampleEntry(
  name: string,
  labels: Labels,
  { count, sum, squares, min, max }: Interval,
  durationMs: number,
): SampleEntry {
  const mean = sum / count
  // Of a sample: one value tells nothing about how far values are apart. Rounding may leave a little below zero.
  const variance = count < 2 ? 0 : Math.max(0, (squares - sum * mean) / (count - 1))
  return {
    Name: name,
    Count: count,
    Rate: (sum * 1000) / Math.max(durationMs, intervalMs),
    Sum: sum,
    Min: min,
    Max: max,
    Mean: mean,
    Stddev: Math.sqrt(variance),
    Labels: labels,
  }
}

/** `muster_raft_commit_index` is `muster.raft.commit_index`, `process_cpu_seconds_total` is `process.cpu_seconds`. */
function dotted(name: string): string {
  const words = name.replace(/_total$/, '').split('_')
  const front = words[0] === 'muster' ? 2 : 1
  const rest = words.slice(front)
  return [...words.slice(0, front), ...(rest.length === 0 ? [] : [rest.join('_')])].join('.')
}

/** As Go prints a time of UTC. */
function timestamp(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`
}
