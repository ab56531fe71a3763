/** The board for Grafana, over the metrics of all servers: `monitoring/grafana.json` is made of it by its test. */

type Unit = 'short' | 's' | 'bytes' | 'reqps' | 'percentunit' | 'ops' | 'Bps' | 'dateTimeFromNow'

type Panel = {
  readonly title: string
  readonly unit: Unit
  /** Legend and query. */
  readonly queries: readonly (readonly [legend: string, expr: string])[]
  /** One figure instead of a graph. */
  readonly asStat?: true
}

type Row = { readonly title: string; readonly panels: readonly Panel[] }

const of = '{job="$job"}'
const quantile = (q: number, metric: string, by = 'instance') =>
  `histogram_quantile(${q}, sum by (${by}, le) (rate(${metric}_bucket${of}[$__rate_interval])))`
const rate = (metric: string, by: string, matchers = 'job="$job"') =>
  `sum by (${by}) (rate(${metric}{${matchers}}[$__rate_interval]))`

export const rows: readonly Row[] = [
  {
    title: 'Cluster',
    panels: [
      stat('Servers that answer', 'short', `sum(up${of})`),
      stat('Voters', 'short', `max(muster_raft_voters${of})`),
      stat('Servers that know a leader', 'short', `sum(muster_raft_has_leader${of})`),
      stat(
        'Leader changes in an hour',
        'short',
        `max(increase(muster_raft_leader_changes_total${of}[1h]))`,
      ),
      graph('Role', 'short', [['{{instance}} {{role}}', `muster_raft_role${of} == 1`]]),
      graph('Since a leader was heard', 's', [
        ['{{instance}}', `muster_raft_leader_contact_seconds${of}`],
      ]),
    ],
  },
  {
    title: 'Requests',
    panels: [
      graph('Requests by class', 'reqps', [
        ['{{code}}', rate('muster_http_requests_total', 'code')],
      ]),
      graph('Requests by server', 'reqps', [
        ['{{instance}}', rate('muster_http_requests_total', 'instance')],
      ]),
      graph('Busiest routes', 'reqps', [
        [
          '{{method}} {{route}}',
          `topk(10, ${rate('muster_http_requests_total', 'method, route')})`,
        ],
      ]),
      graph('Duration', 's', [
        ['p50 {{instance}}', quantile(0.5, 'muster_http_request_duration_seconds')],
        ['p99 {{instance}}', quantile(0.99, 'muster_http_request_duration_seconds')],
      ]),
      graph('Under way', 'short', [
        ['requests {{instance}}', `muster_http_requests_under_way${of}`],
        ['blocking queries {{instance}}', `muster_queries_parked${of}`],
        ['event streams {{instance}}', `muster_event_streams${of}`],
      ]),
      graph('Refused by limits', 'reqps', [
        ['{{limit}}', rate('muster_http_limited_total', 'limit')],
      ]),
    ],
  },
  {
    title: 'Consensus',
    panels: [
      graph('Committed entries', 'ops', [
        ['{{instance}}', `rate(muster_raft_commit_index${of}[$__rate_interval])`],
      ]),
      graph('Write to the log, with its sync', 's', [
        ['p50 {{instance}}', quantile(0.5, 'muster_raft_append_duration_seconds')],
        ['p99 {{instance}}', quantile(0.99, 'muster_raft_append_duration_seconds')],
      ]),
      graph('Applying a batch', 's', [
        ['p99 {{instance}}', quantile(0.99, 'muster_raft_apply_duration_seconds')],
      ]),
      graph('Committed, not applied', 'short', [
        ['{{instance}}', `muster_raft_commit_index${of} - muster_raft_applied_index`],
      ]),
      graph('Elections', 'short', [
        ['stood in {{instance}}', `increase(muster_raft_elections_total${of}[$__rate_interval])`],
        ['won {{instance}}', `increase(muster_raft_elections_won_total${of}[$__rate_interval])`],
      ]),
      graph('Log on disk', 'bytes', [['{{instance}}', `muster_raft_log_bytes${of}`]]),
    ],
  },
  {
    title: 'Between servers',
    panels: [
      graph('Calls by outcome', 'reqps', [
        ['{{outcome}}', rate('muster_rpc_requests_total', 'outcome')],
      ]),
      graph('Duration of calls', 's', [
        ['p99 {{from}}', quantile(0.99, 'muster_rpc_request_duration_seconds', 'from')],
      ]),
      graph('Traffic', 'Bps', [
        ['sent {{instance}}', rate('muster_rpc_sent_bytes_total', 'instance')],
        ['received {{instance}}', rate('muster_rpc_received_bytes_total', 'instance')],
      ]),
      graph('Refused connections', 'ops', [
        ['{{reason}}', rate('muster_rpc_refused_total', 'reason')],
      ]),
    ],
  },
  {
    title: 'Gossip',
    panels: [
      graph('Members', 'short', [['{{status}}', `max by (status) (muster_gossip_members${of})`]]),
      graph('Health score', 'short', [['{{instance}}', `muster_gossip_health_score${of}`]]),
      graph('Probes that failed, suspicions, refutations', 'ops', [
        ['probes {{instance}}', rate('muster_gossip_probes_failed_total', 'instance')],
        ['suspicions {{instance}}', rate('muster_gossip_suspicions_total', 'instance')],
        ['refutations {{instance}}', rate('muster_gossip_refutations_total', 'instance')],
      ]),
      graph('Refused', 'ops', [
        ['{{what}} {{reason}}', `${rate('muster_gossip_refused_total', 'what, reason')} > 0`],
      ]),
    ],
  },
  {
    title: 'Process and disk',
    panels: [
      graph('Resident memory', 'bytes', [['{{instance}}', `process_resident_memory_bytes${of}`]]),
      graph('Memory by kind', 'bytes', [
        ['{{kind}} {{instance}}', `muster_process_memory_bytes${of}`],
      ]),
      graph('Memory without mapped files', 'bytes', [
        ['{{instance}}', `muster_memory_own_bytes${of}`],
        ['target {{instance}}', `muster_memory_target_bytes${of}`],
      ]),
      graph('Processors', 'short', [
        ['{{instance}}', `rate(process_cpu_seconds_total${of}[$__rate_interval])`],
      ]),
      graph('Event loop', 'percentunit', [
        ['busy {{instance}}', `rate(muster_eventloop_busy_seconds_total${of}[$__rate_interval])`],
      ]),
      graph('Event loop, how late', 's', [
        ['p99 {{instance}}', quantile(0.99, 'muster_eventloop_lag_seconds')],
      ]),
      graph('Garbage collection', 's', [
        ['p99 {{instance}}', quantile(0.99, 'muster_gc_duration_seconds')],
      ]),
      graph('State on disk', 'bytes', [
        ['{{instance}}', `sum by (instance) (muster_leveldb_size_bytes${of})`],
      ]),
      graph('Compaction of the state', 'Bps', [
        ['read {{instance}}', rate('muster_leveldb_compaction_read_bytes_total', 'instance')],
        ['written {{instance}}', rate('muster_leveldb_compaction_written_bytes_total', 'instance')],
      ]),
    ],
  },
  {
    title: 'Backups and audit',
    panels: [
      stat(
        'Newest scheduled snapshot',
        'dateTimeFromNow',
        `max(muster_snapshot_newest_timestamp_seconds${of}) * 1000`,
      ),
      graph('Scheduled snapshots', 'short', [
        ['saved {{instance}}', `increase(muster_snapshots_saved_total${of}[1h])`],
        ['failed {{instance}}', `increase(muster_snapshots_failed_total${of}[1h])`],
      ]),
      graph('Audit log', 'ops', [
        ['lines {{instance}}', rate('muster_audit_lines_total', 'instance')],
        ['dropped {{instance}}', rate('muster_audit_dropped_total', 'instance')],
        ['refused by the disk {{instance}}', rate('muster_audit_write_failures_total', 'instance')],
      ]),
    ],
  },
]

function stat(title: string, unit: Unit, expr: string): Panel {
  return { title, unit, queries: [['', expr]], asStat: true }
}

function graph(title: string, unit: Unit, queries: Panel['queries']): Panel {
  return { title, unit, queries }
}

/** All queries, with the board's variables filled in so that Prometheus can parse them. */
export function boardQueries(): readonly string[] {
  return rows
    .flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(([, expr]) => expr)))
    .map((expr) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'muster'))
}

/** Grafana's grid is 24 wide. */
const gridWidth = 24
const statSize = { w: 6, h: 4 }
const graphSize = { w: 12, h: 8 }

/** As `monitoring/grafana.json` has it, to be imported. */
export function boardJson(): string {
  let id = 0
  let y = 0
  const panels: unknown[] = []
  const datasource = { type: 'prometheus', uid: '${datasource}' }
  for (const row of rows) {
    panels.push({
      id: (id += 1),
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: gridWidth, h: 1 },
      panels: [],
    })
    y += 1
    let x = 0
    let rowHeight = 0
    for (const panel of row.panels) {
      const { w, h } = panel.asStat ? statSize : graphSize
      if (x + w > gridWidth) {
        x = 0
        y += rowHeight
        rowHeight = 0
      }
      panels.push({
        id: (id += 1),
        type: panel.asStat ? 'stat' : 'timeseries',
        title: panel.title,
        datasource,
        gridPos: { x, y, w, h },
        fieldConfig: {
          defaults: { unit: panel.unit, min: panel.asStat ? null : 0 },
          overrides: [],
        },
        targets: panel.queries.map(([legendFormat, expr], at) => ({
          refId: String.fromCharCode(65 + at),
          datasource,
          expr,
          legendFormat,
        })),
      })
      x += w
      rowHeight = Math.max(rowHeight, h)
    }
    y += rowHeight
  }
  const board = {
    uid: 'muster',
    title: 'Muster',
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' },
        {
          name: 'job',
          type: 'query',
          label: 'Job',
          datasource,
          query: 'label_values(muster_raft_has_leader, job)',
          refresh: 1,
        },
      ],
    },
    panels,
  }
  return `${JSON.stringify(board, null, 2)}\n`
}
