/** A server that saves its state by the clock, and tells of it; and what it tells beside has a place on the board. */
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { alerts } from '../../scripts/monitoring/alerts.ts'
import { boardQueries } from '../../scripts/monitoring/board.ts'
import { ask } from '../support/ask.ts'
import { serverOfThree } from '../support/server-of-three.ts'
import { eventually } from '../support/eventually.ts'

void t.test('a snapshot of the schedule restores what it saved', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-snapshots-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const cluster = await serverOfThree(t, {
    gossip: true,
    server: { snapshot_schedule: '1h', snapshot_retain: 2, snapshot_folder: folder },
  })

  const names = await eventually('each server saves one into the folder they share', async () => {
    const found = (await readdir(folder)).filter((name) => name.endsWith('.snap'))
    return found.length === cluster.size ? found.sort() : undefined
  })
  for (const at of cluster.all) {
    const { name, ports } = cluster.server(at).spec
    t.match(names[at], new RegExp(`^muster-${name}-\\d{8}T\\d{6}Z-\\d+\\.snap$`))
    const { body } = await ask(ports.ops, 'GET', '/metrics')
    t.match(body, 'muster_snapshots_saved_total 1\n')
    t.match(body, 'muster_snapshots_failed_total 0\n')
    t.match(body, 'muster_snapshot_interval_seconds 3600\n')
    const newest = Number(/^muster_snapshot_newest_timestamp_seconds (\d+)$/m.exec(body)?.[1])
    t.ok(Math.abs(Date.now() / 1_000 - newest) < 600, 'it is new')
  }

  const variables = cluster.variables(0)
  t.match(await variables.put('later', 'than the snapshot'), { type: 'ok' })
  const archive = await readFile(join(folder, names[0] ?? ''))
  const restored = await cluster.http(1).request('PUT', '/v1/operator/snapshot', { body: archive })
  t.equal(restored.status, 200)
  t.match(await variables.read('later'), { type: 'ok', seen: { value: null } })

  // What the alerts and the board ask for is what a server tells.
  const { body } = await ask(cluster.server(0).spec.ports.ops, 'GET', '/metrics')
  const told = new Set([...body.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
  const asked = new Set(
    [...alerts.map(({ expr }) => expr), ...boardQueries()].flatMap((expr) =>
      [...expr.matchAll(/\b(?:muster|process)_[a-z_]+/g)].map(([name]) =>
        name.replace(/_bucket$/, ''),
      ),
    ),
  )
  t.ok(asked.size > 30)
  t.same(
    [...asked].filter((name) => !told.has(name)),
    [],
  )
})
