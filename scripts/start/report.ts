/** What `npm start` prints about a running cluster. */
import { relative } from 'node:path'
import { HOST, type AgentPlan } from './options.ts'

/** Relative where that is the shorter word for it. */
export function shortPath(path: string, cwd: string): string {
  const near = relative(cwd, path)
  return near === '' ? '.' : near.startsWith('..') ? path : near
}

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length)
    })
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** `leaderPort` is the port in the address that `/v1/status/leader` gave. */
export function clusterReport(
  plans: readonly AgentPlan[],
  leaderPort: number | null,
  cwd: string,
  /** Of the authority, when all speak TLS. */
  caFile: string | null = null,
): string {
  const scheme = caFile === null ? 'http' : 'https'
  const ca = caFile === null ? null : shortPath(caFile, cwd)
  const curl = ca === null ? 'curl' : `curl --cacert ${ca}`
  const isLeader = (plan: AgentPlan): boolean =>
    plan.ports.rpc === leaderPort || plan.ports.http === leaderPort
  const rows = plans.map((plan) => [
    plan.name,
    plan.kind === 'client' ? 'client' : isLeader(plan) ? 'leader' : 'follower',
    `${scheme}://${HOST}:${plan.ports.http}`,
    `${scheme}://${HOST}:${plan.ports.consul}`,
    plan.kind === 'client' ? '-' : `${HOST}:${plan.ports.rpc}`,
    `http://${HOST}:${plan.ports.ops}`,
    shortPath(plan.dataDir, cwd),
  ])
  const first = plans[0]
  const last = plans.at(-1)
  const header = ['name', 'role', 'HTTP', 'as Consul', 'RPC', 'ops', 'data']
  return [
    table([header, ...rows]),
    '',
    'Try it: write a variable through one server, read it through another.',
    '',
    `  ${curl} -X PUT ${scheme}://${HOST}:${first?.ports.http}/v1/var/app/db -d '{"Items":{"user":"ada"}}'`,
    `  ${curl} '${scheme}://${HOST}:${last?.ports.http}/v1/var/app/db?pretty'`,
    ...(ca === null
      ? []
      : [
          '',
          'The command line:',
          '',
          `  export MUSTER_ADDR=https://${HOST}:${first?.ports.http} MUSTER_CACERT=${ca}`,
          '  bin/muster status',
        ]),
    '',
    `Logs: ${plans.map((plan) => shortPath(plan.logFile, cwd)).join('  ')}`,
    'Ctrl-C stops all; npm start goes on with this data, npm start -- --fresh begins anew.',
  ].join('\n')
}
