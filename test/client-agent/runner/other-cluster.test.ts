/** A new cluster takes the place of one that was lost, with a log of its own: an agent hears it once there is a state in it. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import type { LogOrigin } from '../../../src/domains/allocations/log-model.ts'
import { leave, startedRunner, until, type ServersStandIn } from './server-stand-in.ts'
import { mock, pidOf, runs, setting, shell } from './tasks.ts'

const lost: LogOrigin = { cluster: 'lost', predecessors: [] }
const begun: LogOrigin = { cluster: 'begun', predecessors: [] }
const restored: LogOrigin = { ...begun, isRestored: true }
const long = mock({ run_for: '1h' })

/** Two run: one that is in the archive, and one that came later. */
async function disaster(t: Test) {
  const { folder, servers } = await setting(t)
  servers.log = lost
  servers.index = 200
  const runner = await startedRunner(t, servers, { folder })
  const kept = servers.place(8_101, 'service', long)
  await servers.becomes(kept, 'running')
  const archive = servers.saved()
  const later = servers.place(8_102, 'service', long)
  await servers.becomes(later, 'running')
  return { folder, servers, runner, kept, later, archive }
}

async function answers(servers: ServersStandIn): Promise<void> {
  const { feeds } = servers
  await until(
    () => servers.feeds > feeds + 1,
    () => 'it does not ask again',
  )
}

t.test('a state restored into a new cluster is followed, though its log is shorter', async (t) => {
  const { servers, kept, later, archive } = await disaster(t)
  servers.reports.clear()
  servers.beginAnew(11, restored, archive)
  const next = servers.place(8_103, 'service', long)
  await servers.becomes(next, 'running')
  await servers.becomes(kept, 'running')
  await servers.becomes(later, 'complete')
  servers.stop(kept)
  await servers.becomes(kept, 'complete')
})

t.test('a cluster that was just begun ends nothing before a state is restored', async (t) => {
  const { folder, servers, runner, kept, later, archive } = await disaster(t)
  servers.beginAnew(5, begun, new Map())
  await answers(servers)
  // Its report meets a cluster that knows nothing of it.
  runner.find(kept)?.restart('', false)
  await servers.reported(kept, ({ tasks }) => tasks[0]?.restarts === 1)
  await answers(servers)
  t.notOk(runner.find(kept)?.isOver)
  t.notOk(runner.find(later)?.isOver)
  await leave(runner)
  const second = await startedRunner(t, servers, { folder })
  await answers(servers)
  t.notOk(second.find(kept)?.isOver, 'also after a restart of the agent')
  servers.reports.clear()
  servers.beginAnew(11, restored, archive)
  await servers.becomes(later, 'complete')
  await servers.becomes(kept, 'running')
})

t.test('nor where a report meets it before its list is told', async (t) => {
  const { servers, runner, kept, later, archive } = await disaster(t)
  const told = Promise.withResolvers<void>()
  servers.untilFeed = told.promise
  servers.beginAnew(5, begun, new Map())
  runner.find(kept)?.restart('', false)
  await servers.reported(kept, ({ tasks }) => tasks[0]?.restarts === 1)
  told.resolve()
  await answers(servers)
  t.notOk(runner.find(kept)?.isOver)
  servers.beginAnew(11, restored, archive)
  await servers.becomes(later, 'complete')
  t.notOk(runner.find(kept)?.isOver)
})

t.test('nor does it once its log is as long as the one before', async (t) => {
  const { servers, runner, kept, later, archive } = await disaster(t)
  servers.beginAnew(1_000, begun, new Map())
  await answers(servers)
  t.notOk(runner.find(kept)?.isOver)
  t.notOk(runner.find(later)?.isOver)
  servers.beginAnew(1_011, restored, archive)
  await servers.becomes(later, 'complete')
  t.notOk(runner.find(kept)?.isOver)
})

t.test('nor where the agent cannot read how far it had seen', async (t) => {
  const { folder, servers } = await setting(t)
  servers.log = lost
  const runner = await startedRunner(t, servers, { folder })
  const id = servers.place(8_105, 'service', shell('echo $$; exec sleep 1000'))
  await servers.becomes(id, 'running')
  const pid = await pidOf(folder, id)
  const archive = servers.saved()
  await leave(runner)
  await writeFile(join(workFolders(folder).state, `${id}.json`), 'no JSON')
  servers.beginAnew(5, begun, new Map())
  await startedRunner(t, servers, { folder })
  await answers(servers)
  t.ok(runs(pid))
  servers.reports.clear()
  servers.beginAnew(11, restored, archive)
  await servers.becomes(id, 'running')
  t.ok(runs(pid), 'it is found again')
})

t.test('what was seen of the new cluster is known over a restart of the agent', async (t) => {
  const { folder, servers, runner, kept, later, archive } = await disaster(t)
  servers.beginAnew(11, restored, archive)
  await servers.becomes(later, 'complete')
  await until(
    () => runner.find(kept)?.assigned.state?.cluster === 'begun',
    () => 'it is not read anew',
  )
  await leave(runner)
  const path = join(workFolders(folder).state, 'log')
  t.match(JSON.parse(await readFile(path, 'utf8')), { log: { cluster: 'begun' } })
  const second = await startedRunner(t, servers, { folder })
  const next = servers.place(8_103, 'service', long)
  await servers.becomes(next, 'running')
  servers.beginAnew(10, restored, new Map())
  await answers(servers)
  t.notOk(second.find(kept)?.isOver, 'a server of it that is behind ends nothing')
})

t.test(
  'a cluster recovered from the loss of its quorum is followed as far as it goes',
  async (t) => {
    const { folder, servers, runner, kept, later, archive } = await disaster(t)
    const recovered: LogOrigin = { cluster: 'recovered', predecessors: ['lost'], beginsAt: 150 }
    servers.beginAnew(149, recovered, new Map())
    await answers(servers)
    t.notOk(runner.find(kept)?.isOver, 'one that is still behind ends nothing')
    servers.beginAnew(150, recovered, archive)
    await servers.becomes(later, 'complete')
    t.notOk(runner.find(kept)?.isOver)
    const next = servers.place(8_108, 'service', long)
    await servers.becomes(next, 'running')
    t.ok(servers.index < 200, 'long before its log is as long as the one before')
    servers.beginAnew(1_000, lost, new Map())
    await answers(servers)
    t.notOk(runner.find(kept)?.isOver, 'a server of the one before ends nothing')
    await leave(runner)
    const second = await startedRunner(t, servers, { folder })
    await answers(servers)
    t.notOk(second.find(kept)?.isOver, 'nor after a restart of the agent')
    servers.beginAnew(160, recovered, archive)
    await servers.becomes(next, 'complete')
    t.notOk(second.find(kept)?.isOver)
  },
)

t.test('an agent that ended before it had read all of a successor reads it then', async (t) => {
  const { folder, servers, runner, kept, later } = await disaster(t)
  await leave(runner)
  const recovered: LogOrigin = { cluster: 'recovered', predecessors: ['lost'], beginsAt: 150 }
  const log = { version: 1, log: recovered }
  await writeFile(join(workFolders(folder).state, 'log'), JSON.stringify(log))
  servers.beginAnew(150, recovered, servers.saved())
  const second = await startedRunner(t, servers, { folder })
  await until(
    () => [kept, later].every((id) => second.find(id)?.assigned.state?.cluster === 'recovered'),
    () => 'they are not read anew',
  )
})

t.test('servers that do not say where a successor begins go on with the log before', async (t) => {
  const { servers, runner, kept, later, archive } = await disaster(t)
  const recovered: LogOrigin = { cluster: 'recovered', predecessors: ['lost'] }
  servers.beginAnew(150, recovered, archive)
  await answers(servers)
  t.notOk(runner.find(later)?.isOver, 'one that is behind ends nothing')
  servers.beginAnew(300, recovered, archive)
  await servers.becomes(later, 'complete')
  servers.beginAnew(350, lost, new Map())
  await answers(servers)
  t.notOk(runner.find(kept)?.isOver, 'nor does a server of the one before')
})

t.test('in one cluster, a restored state may have lower indexes than the one before', async (t) => {
  const { servers, runner, kept, archive } = await disaster(t)
  servers.touch(kept, { jobVersion: 1 })
  await until(
    () => runner.find(kept)?.assigned.jobVersion === 1,
    () => 'it is not read',
  )
  servers.beginAnew(servers.index + 1, { ...lost, isRestored: true }, archive)
  await until(
    () => runner.find(kept)?.assigned.jobVersion === 0,
    () => 'it is not read again',
  )
})

const template = { EmbeddedTmpl: '{{ key "color" }}', DestPath: 'local/x', ChangeMode: 'noop' }

/** Until its template is of that. */
async function rendered(folder: string, id: string, wanted: string): Promise<void> {
  const path = join(workFolders(folder).allocations, id, 'main/local/x')
  let text = ''
  await until(
    () => text === wanted,
    () => `it is ${text}`,
    async () => {
      text = await readFile(path, 'utf8')
    },
  )
}

t.test('templates are made of the data of the new cluster', async (t) => {
  const { folder, servers } = await setting(t)
  servers.log = lost
  servers.index = 200
  await startedRunner(t, servers, { folder })
  servers.tell('key color', { type: 'key', value: 'blue' })
  const id = servers.place(8_104, 'service', [{ ...long[0], Templates: [template] }])
  await servers.becomes(id, 'running')
  servers.beginAnew(11, restored, servers.saved())
  servers.tell('key color', { type: 'key', value: 'red' })
  await rendered(folder, id, 'red')
})

t.test('also of one into which nothing was restored, once its list is followed', async (t) => {
  const { folder, servers } = await setting(t)
  servers.log = lost
  servers.index = 200
  const first = await startedRunner(t, servers, { folder })
  servers.tell('key color', { type: 'key', value: 'blue' })
  const id = servers.place(8_106, 'service', [{ ...long[0], Templates: [template] }])
  await servers.becomes(id, 'running')
  await leave(first)
  servers.beginAnew(1_000, begun, new Map())
  servers.tell('key color', { type: 'key', value: 'red' })
  await startedRunner(t, servers, { folder })
  await answers(servers)
  await rendered(folder, id, 'blue')
  servers.beginAnew(11, begun, new Map())
  const next = servers.place(8_107, 'service', [{ ...long[0], Templates: [template] }])
  await servers.becomes(id, 'complete')
  await servers.becomes(next, 'running')
  await rendered(folder, next, 'red')
})
