/** The bench's figures as rows with their ratios and targets, and as a table. */
import type { Failover } from './failover.ts'
import type { Round } from './plan.ts'

export type Measured = {
  /** By the names of the figures in `bench.ts`. */
  readonly loads: ReadonlyMap<string, Round>
  /** All rounds behind them, in the order of time; the same round of two systems ran side by side. */
  readonly rounds: ReadonlyMap<string, readonly Round[]>
  /** Under the load, before any leader was killed. */
  readonly elections: number
  /** Right after the last figure. */
  readonly residentMiB: readonly number[]
  /** And once nobody had asked anything for a while. */
  readonly restedMiB: readonly number[]
  readonly failover: Failover | null
}

export type Target = { readonly text: string; readonly met: boolean | null }

export function loadTable(
  names: readonly string[],
  systems: ReadonlyMap<string, Measured>,
): string {
  const rows = [
    [
      '',
      ...[...systems.keys()].flatMap((name) => [name, 'p50 ms', 'p99 ms', 'cpu µs']),
      'ratio',
      'of cpu',
    ],
  ]
  for (const name of names) {
    const figures = [...systems.values()].map(({ loads }) => loads.get(name))
    const cells = figures.flatMap((figure) =>
      figure === undefined
        ? ['-', '-', '-', '-']
        : [
            `${figure.perSecond.toFixed(0)}/s`,
            figure.p50Ms.toFixed(2),
            figure.p99Ms.toFixed(2),
            figure.cpuUs.toFixed(0),
          ],
    )
    const [ours, theirs] = [...systems.values()].map((measured) => measured.rounds.get(name) ?? [])
    const ratios = (['perSecond', 'cpuUs'] as const).map((field) =>
      ratioText(ours ?? [], theirs ?? [], field),
    )
    rows.push([name, ...cells, ...ratios])
  }
  return alignColumns(rows)
}

export function otherTable(systems: ReadonlyMap<string, Measured>): string {
  const rows = [['', ...systems.keys()]]
  const all = [...systems.values()]
  const listed = (all: readonly number[]) => all.map((mib) => mib.toFixed(0)).join(' ')
  rows.push(['resident MiB by server', ...all.map(({ residentMiB }) => listed(residentMiB))])
  rows.push(['resident MiB at rest', ...all.map(({ restedMiB }) => listed(restedMiB))])
  rows.push(['elections under load', ...all.map(({ elections }) => String(elections))])
  rows.push(['fail-over median ms', ...all.map(({ failover }) => fixed(failover?.medianMs))])
  rows.push(['fail-over worst ms', ...all.map(({ failover }) => fixed(failover?.worstMs))])
  return alignColumns(rows)
}

/** What Muster has set itself to reach. `met` is null where the other side was not measured. */
export function targets(ours: Measured, theirs: Measured | undefined): Target[] {
  const ratio = (name: string, field: 'perSecond' | 'p50Ms'): number | null => {
    const above = ours.loads.get(name)?.[field]
    const below = theirs?.loads.get(name)?.[field]
    return above === undefined || below === undefined ? null : above / below
  }
  const within = (ms: number | undefined, limitMs: number): boolean | null =>
    ms === undefined ? null : ms <= limitMs
  const times = (name: string, of: string, wanted: number): Target => {
    const found = ratio(name, 'perSecond')
    return {
      text: `${name} is ${shown(found)} of ${of}, wanted ${wanted}`,
      met: atLeast(found, wanted),
    }
  }
  const alone = ratio('PUT key leader @1', 'p50Ms')
  const leaderPut = ours.loads.get('PUT key leader @64')?.perSecond
  const followerPut = ours.loads.get('PUT key follower @64')?.perSecond
  const follower =
    leaderPut === undefined || followerPut === undefined ? null : followerPut / leaderPut
  const { failover } = ours
  return [
    times('PUT key leader @64', "etcd's PUT", 2.5),
    times('PUT key leader @256', "etcd's PUT", 2.5),
    times('PUT variable leader @64', "etcd's PUT", 2),
    {
      text: `p50 of PUT key @1 is ${shown(alone)} of etcd's, wanted at most 1`,
      met: atMost(alone, 1),
    },
    {
      text: `PUT key follower @64 is ${shown(follower)} of the leader's, wanted 0.8`,
      met: atLeast(follower, 0.8),
    },
    times('session create leader @64', "etcd's PUT", 1.5),
    times('GET linearizable leader @64', "etcd's", 4),
    times('GET key leader @64', "etcd's linearizable one", 4),
    {
      text: `fail-over median ${fixed(failover?.medianMs)} ms, wanted at most 150`,
      met: within(failover?.medianMs, 150),
    },
    {
      text: `fail-over worst ${fixed(failover?.worstMs)} ms, wanted at most 400`,
      met: within(failover?.worstMs, 400),
    },
  ]
}

function atLeast(value: number | null, limit: number): boolean | null {
  return value === null ? null : value >= limit
}

function atMost(value: number | null, limit: number): boolean | null {
  return value === null ? null : value <= limit
}

function shown(value: number | null): string {
  return value === null ? 'unknown' : `${value.toFixed(2)}x`
}

/** The geometric mean of the rounds' ratios, with its standard error once there are enough rounds to tell it. */
function ratioText(
  ours: readonly Round[],
  theirs: readonly Round[],
  field: 'perSecond' | 'cpuUs',
): string {
  const logs = ours.flatMap((round, at) => {
    const other = theirs[at]?.[field]
    return other === undefined ? [] : [Math.log(round[field] / other)]
  })
  if (logs.length === 0) return ''
  const mean = sum(logs) / logs.length
  const ratio = Math.exp(mean)
  if (logs.length < 5) return `${ratio.toFixed(2)}x`
  const variance = sum(logs.map((log) => (log - mean) ** 2)) / (logs.length - 1)
  const error = ratio * Math.sqrt(variance / logs.length)
  return `${ratio.toFixed(2)}x ± ${error.toFixed(2)}`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function fixed(ms: number | undefined): string {
  return ms === undefined ? '-' : ms.toFixed(0)
}

/** First column to the left, the others to the right. */
function alignColumns(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const width = widths[column] ?? 0
          return column === 0 ? cell.padEnd(width) : cell.padStart(width)
        })
        .join('  '),
    )
    .join('\n')
}
