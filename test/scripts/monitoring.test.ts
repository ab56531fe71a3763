/** The files for Prometheus and Grafana: made of what `scripts/monitoring` says, and such as Prometheus can read. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { alerts, alertsYaml } from '../../scripts/monitoring/alerts.ts'
import { boardJson, boardQueries } from '../../scripts/monitoring/board.ts'
import { findVerb } from '../../src/cli/find-verb.ts'
import { makeVerbs } from '../../src/cli/verbs.ts'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('../../monitoring', import.meta.url))

for (const [name, made] of [
  ['alerts.yml', alertsYaml()],
  ['grafana.json', boardJson()],
] as const) {
  void t.test(`monitoring/${name} is what its source makes`, async (t) => {
    const path = join(folder, name)
    if (process.env['TAP_SNAPSHOT'] === '1') await writeFile(path, made)
    t.equal(await readFile(path, 'utf8'), made, 'TAP_SNAPSHOT=1 writes it anew')
  })
}

void t.test('names of alerts are their own', async (t) => {
  t.equal(new Set(alerts.map(({ name }) => name)).size, alerts.length)
})

void t.test('commands that alerts tell people to use are there', async (t) => {
  const verbs = makeVerbs({
    version: '1.2.3',
    runAgent: () => Promise.reject(new Error('no agent was expected')),
    openRecovery: () => Promise.reject(new Error('no recovery was expected')),
  })
  const commands = alerts.flatMap(({ summary, description }) => [
    ...`${summary} ${description}`.matchAll(/`muster ([^`]+)`/g),
  ])
  t.ok(commands.length > 0)
  for (const [command, words = ''] of commands) {
    t.match(findVerb(words.split(' '), verbs), { type: 'verb' }, command)
  }
})

void t.test('Prometheus reads the rules and the queries of the board', async (t) => {
  if (!(await promtoolIsThere(t))) return
  await promtool(t, ['check', 'rules', join(folder, 'alerts.yml')])
  const rules = boardQueries().map((expr, at) => ({ record: `board:query${at}`, expr }))
  const groups = [{ name: 'board', rules }]
  const board = t.testdir({ 'rules.yml': JSON.stringify({ groups }) })
  await promtool(t, ['check', 'rules', join(board, 'rules.yml')])
})

void t.test('alerts come when they should, and not before', async (t) => {
  if (!(await promtoolIsThere(t))) return
  const series = (name: string, at: number, values: string) => ({
    series: `${name}{instance="s${at}:9203", job="muster"}`,
    values,
  })
  const firing = (alertname: string, atTime: string, count: number) => ({
    expr: `count(ALERTS{alertname="${alertname}", alertstate="firing"}) or vector(0)`,
    eval_time: atTime,
    exp_samples: [{ labels: '{}', value: count }],
  })
  const rules = {
    rule_files: [join(folder, 'alerts.yml')],
    evaluation_interval: '15s',
    tests: [
      {
        interval: '15s',
        input_series: [
          series('up', 1, '1x60'),
          series('up', 2, '1x60'),
          series('up', 3, '1x20 0x40'),
          series('muster_raft_voters', 1, '3x60'),
          series('muster_raft_voters', 2, '3x60'),
          series('muster_raft_has_leader', 1, '1x10 0x50'),
          series('muster_snapshot_newest_timestamp_seconds', 1, '0x60'),
          series('muster_snapshot_interval_seconds', 1, '120x60'),
        ],
        promql_expr_test: [
          firing('MusterServerDown', '5m', 0),
          firing('MusterServerDown', '7m', 1),
          firing('MusterQuorumLost', '10m', 0),
          firing('MusterNoLeader', '2m', 0),
          firing('MusterNoLeader', '4m', 1),
          firing('MusterSnapshotOld', '3m', 0),
          firing('MusterSnapshotOld', '12m', 1),
        ],
      },
      {
        interval: '15s',
        input_series: [
          series('up', 1, '1x60'),
          series('up', 2, '0x60'),
          series('up', 3, '0x60'),
          series('muster_raft_voters', 1, '3x60'),
        ],
        promql_expr_test: [firing('MusterQuorumLost', '2m', 1)],
      },
      {
        interval: '15s',
        input_series: [
          series('up', 1, '1x20 0x40'),
          series('up', 2, '1x20 0x40'),
          series('up', 3, '1x20 0x40'),
          // What a target that is down exported is stale at once.
          series('muster_raft_voters', 1, '3x20 stale'),
          series('muster_raft_voters', 2, '3x20 stale'),
          series('muster_raft_voters', 3, '3x20 stale'),
        ],
        promql_expr_test: [
          firing('MusterQuorumLost', '5m', 0),
          firing('MusterQuorumLost', '7m', 1),
          firing('MusterQuorumLost', '14m', 1),
        ],
      },
    ],
  }
  const folderOfTests = t.testdir({ 'tests.yml': JSON.stringify(rules) })
  await promtool(t, ['test', 'rules', join(folderOfTests, 'tests.yml')])
})

async function promtoolIsThere(t: Test): Promise<boolean> {
  const there = await run('promtool', ['--version']).then(
    () => true,
    () => false,
  )
  if (!there) t.comment('promtool is not installed (Debian: prometheus): nothing was checked by it')
  return there
}

async function promtool(t: Test, args: readonly string[]): Promise<void> {
  const failure = await run('promtool', args).then(
    () => null,
    (error: unknown) => error,
  )
  t.equal(failure, null, `promtool ${args[0]} ${args[1]}`)
}
