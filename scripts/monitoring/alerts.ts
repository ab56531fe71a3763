/** Alert rules for Prometheus, over the metrics of all servers: `monitoring/alerts.yml` is made of them by its test. */

export type Alert = {
  readonly name: string
  readonly expr: string
  /** How long it must hold. */
  readonly for: string
  readonly severity: 'critical' | 'warning'
  readonly summary: string
  /** What it means and what to do. */
  readonly description: string
}

/** Scrape jobs whose names begin so are servers of Muster; what they export tells which of them are. */
const servers = 'job=~"muster.*"'

export const alerts: readonly Alert[] = [
  {
    name: 'MusterServerDown',
    expr: `up{${servers}} == 0`,
    for: '1m',
    severity: 'warning',
    summary: 'A server does not answer',
    description:
      '{{ $labels.instance }} cannot be scraped. Three servers go on without one, five without two; bring it back before the next is lost.',
  },
  {
    name: 'MusterQuorumLost',
    // With no server left, nobody says how many voters there are.
    expr: `sum by (job) (up{${servers}}) <= max by (job) (muster_raft_voters{${servers}}) / 2 or sum by (job) (up{${servers}}) == 0`,
    for: '30s',
    severity: 'critical',
    summary: 'No majority of the voters runs',
    description:
      'Writes are refused until a majority is back. See "Loss of quorum" in docs/operators.md.',
  },
  {
    name: 'MusterNoLeader',
    expr: `muster_raft_has_leader{${servers}} == 0`,
    for: '30s',
    severity: 'critical',
    summary: 'A server knows no leader',
    description:
      '{{ $labels.instance }} has heard of no leader for longer than any election takes: it is cut off, or there is no majority.',
  },
  {
    name: 'MusterLeaderUnsteady',
    expr: `increase(muster_raft_leader_changes_total{${servers}}[15m]) > 3`,
    for: '0s',
    severity: 'warning',
    summary: 'Leaders change again and again',
    description:
      'More than three changes in a quarter of an hour: look at the disk, the network, and the event loop of the servers.',
  },
  {
    name: 'MusterStormBrake',
    expr: `max by (job) (muster_storm_brake{${servers}}) == 1`,
    for: '0s',
    severity: 'critical',
    summary: 'Many nodes were lost at about the same time',
    description:
      'Their work is not placed elsewhere until enough of them are back, an operator releases the brake, or it has held long enough. See "Storms" in docs/client-agents.md.',
  },
  {
    name: 'MusterSlowDisk',
    expr: `histogram_quantile(0.99, sum by (job, instance, le) (rate(muster_raft_append_duration_seconds_bucket{${servers}}[5m]))) > 0.25`,
    for: '5m',
    severity: 'warning',
    summary: 'Writes to the log are slow',
    description:
      'One in a hundred takes {{ $value | humanizeDuration }} on {{ $labels.instance }}; near the election timeout the leader is lost.',
  },
  {
    name: 'MusterMemoryShort',
    expr: `muster_memory_short{${servers}} == 1`,
    for: '15m',
    severity: 'warning',
    summary: 'A server takes more memory than its target',
    description:
      '{{ $labels.instance }} keeps its caches small. Raise server.memory_target if the machine has more; see "Memory" in docs/health-and-metrics.md.',
  },
  {
    name: 'MusterLoopLate',
    expr: `histogram_quantile(0.99, sum by (job, instance, le) (rate(muster_eventloop_lag_seconds_bucket{${servers}}[5m]))) > 0.25`,
    for: '5m',
    severity: 'warning',
    summary: 'A server has more to do than it can',
    description:
      'The event loop of {{ $labels.instance }} is {{ $value | humanizeDuration }} late. Fewer requests, or a faster processor.',
  },
  {
    name: 'MusterApplyBehind',
    expr: `muster_raft_commit_index{${servers}} - muster_raft_applied_index > 10000`,
    for: '2m',
    severity: 'warning',
    summary: 'The state is behind the log',
    description:
      '{{ $labels.instance }} has {{ $value }} committed entries that its state does not hold yet: its reads wait, or are old.',
  },
  {
    name: 'MusterServerErrors',
    expr: `sum by (job, instance) (rate(muster_http_requests_total{${servers}, code="5xx"}[5m])) / sum by (job, instance) (rate(muster_http_requests_total{${servers}}[5m])) > 0.05`,
    for: '5m',
    severity: 'warning',
    summary: 'Requests fail',
    description:
      '{{ $value | humanizePercentage }} of the requests to {{ $labels.instance }} are answered 5xx.',
  },
  {
    name: 'MusterClientsLimited',
    expr: `sum by (job, instance, limit) (rate(muster_http_limited_total{${servers}}[10m])) > 1`,
    for: '10m',
    severity: 'warning',
    summary: 'Clients reach a limit',
    description:
      '{{ $labels.instance }} refuses {{ $value | humanize }} requests a second by the limit "{{ $labels.limit }}". See docs/limits-and-audit.md.',
  },
  {
    name: 'MusterMembersFailed',
    expr: `max by (job) (muster_gossip_members{${servers}, status="failed"}) > 0`,
    for: '10m',
    severity: 'warning',
    summary: 'Members of the pool do not answer',
    description:
      '{{ $value }} members are failed. `muster server members` names them; `muster server force-leave` gives up what never comes back.',
  },
  {
    name: 'MusterGossipUnwell',
    expr: `muster_gossip_health_score{${servers}} > 2`,
    for: '10m',
    severity: 'warning',
    summary: 'A member hears little of the others',
    description:
      '{{ $labels.instance }} misses answers to its probes: packets are lost, or the machine is too busy.',
  },
  {
    name: 'MusterGossipWrongKey',
    expr: `sum by (job, instance) (increase(muster_gossip_refused_total{${servers}, reason="wrong_key"}[10m])) > 0`,
    for: '0s',
    severity: 'warning',
    summary: 'Somebody gossips with another key',
    description:
      '{{ $labels.instance }} refused packets: a member whose keyring is old, or a stranger.',
  },
  {
    name: 'MusterCertificateEnds',
    expr: `muster_rpc_certificate_expiry_timestamp_seconds{${servers}} - time() < 14 * 86400`,
    for: '1h',
    severity: 'warning',
    summary: 'A certificate ends within two weeks',
    description:
      'The certificate of {{ $labels.instance }} ends in {{ $value | humanizeDuration }}; afterwards no server accepts it. See docs/tls.md.',
  },
  {
    name: 'MusterAuditLoses',
    expr: `sum by (job, instance) (increase(muster_audit_dropped_total{${servers}}[10m]) + increase(muster_audit_write_failures_total{${servers}}[10m])) > 0`,
    for: '0s',
    severity: 'critical',
    summary: 'The audit log loses lines',
    description: 'Lines of {{ $labels.instance }} were dropped, or its disk refused them.',
  },
  {
    name: 'MusterSnapshotsFail',
    expr: `increase(muster_snapshots_failed_total{${servers}}[1h]) > 3`,
    for: '0s',
    severity: 'warning',
    summary: 'Scheduled snapshots fail',
    description: '{{ $labels.instance }} could not save a snapshot; its log has the reason.',
  },
  {
    name: 'MusterSnapshotOld',
    expr: `time() - muster_snapshot_newest_timestamp_seconds{${servers}} > 2 * muster_snapshot_interval_seconds`,
    for: '5m',
    severity: 'critical',
    summary: 'There is no fresh backup',
    description:
      'The newest scheduled snapshot of {{ $labels.instance }} is {{ $value | humanizeDuration }} old, more than two intervals.',
  },
]

/** As `monitoring/alerts.yml` has them. Quoted as JSON, whose strings YAML reads. */
export function alertsYaml(): string {
  const rules = alerts.map((alert) => [
    `      - alert: ${alert.name}`,
    `        expr: ${JSON.stringify(alert.expr)}`,
    `        for: ${alert.for}`,
    `        labels:`,
    `          severity: ${alert.severity}`,
    `        annotations:`,
    `          summary: ${JSON.stringify(alert.summary)}`,
    `          description: ${JSON.stringify(alert.description)}`,
  ])
  return [
    '# Made of scripts/monitoring/alerts.ts by `TAP_SNAPSHOT=1 npx tap run test/scripts/monitoring.test.ts`.',
    'groups:',
    '  - name: muster',
    '    rules:',
    ...rules.flat(),
    '',
  ].join('\n')
}
