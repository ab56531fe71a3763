/** Allocations with a sticky disk: they take over the data of those before them. */
import { access, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import { AllocationFolder } from '../../../src/client-agent/runner/task-folders.ts'
import { dataFolder, leave, startedRunner, type Tasks } from './server-stand-in.ts'
import { pidOf, runs, setting, shell } from './tasks.ts'

const sticky = { EphemeralDisk: { Sticky: true } }
const shows = 'cat $NOMAD_TASK_DIR/own $NOMAD_ALLOC_DIR/data/all; exec sleep 1000'
const keeps = 'echo own >$NOMAD_TASK_DIR/own; echo all >$NOMAD_ALLOC_DIR/data/all'

/** Deaf to the signal: it ends when it is killed. */
function slow(script: string): Tasks {
  const [task] = shell(`trap '' INT TERM; ${script}; echo $$; while :; do sleep 0.05; done`)
  return [{ ...task, KillTimeout: 2_000_000_000 }]
}

t.test('one takes over once the one before has ended, also over a restart', async (t) => {
  const { folder, servers } = await setting(t)
  const output = (id: string) =>
    readFile(join(workFolders(folder).allocations, id, 'alloc/logs/main.stdout.0'), 'utf8')
  const first = await startedRunner(t, servers, { folder })
  const before = servers.place(1, 'service', slow(keeps), sticky)
  await servers.becomes(before, 'running')
  const pid = await pidOf(folder, before)
  servers.stop(before)
  const after = servers.place(2, 'service', shell(shows), sticky, { previous: before })
  await servers.becomes(after, 'pending')
  await leave(first)
  t.ok(runs(pid), 'its kill timeout is not over')
  await startedRunner(t, servers, { folder })
  await servers.becomes(after, 'running')
  t.notOk(runs(pid))
  for (let shown = ''; shown !== 'own\nall\n'; shown = await output(after)) {
    t.ok('own\nall\n'.startsWith(shown))
  }
  const own = join(workFolders(folder).allocations, before, 'main/local')
  await t.rejects(access(own), { code: 'ENOENT' }, 'it is moved')
  servers.stop(after)
  await servers.becomes(after, 'complete')
})

t.test(
  'without a sticky disk, and where the one before was elsewhere, it begins at once',
  async (t) => {
    const { folder, servers } = await setting(t)
    await startedRunner(t, servers, { folder })
    const before = servers.place(1, 'service', shell(`${keeps}; exec sleep 1000`))
    await servers.becomes(before, 'running')
    const elsewhere = '00000000-0000-4000-8000-0000000000ff'
    const others = [
      servers.place(2, 'service', shell('exec sleep 1000'), {}, { previous: before }),
      servers.place(3, 'service', shell('exec sleep 1000'), sticky, { previous: elsewhere }),
    ]
    for (const other of others) await servers.becomes(other, 'running')
    for (const id of [before, ...others]) servers.stop(id)
    for (const id of [before, ...others]) await servers.becomes(id, 'complete')
  },
)

t.test('what is taken over already stays, and no link is', async (t) => {
  const root = await dataFolder(t)
  const [before, after] = [
    new AllocationFolder(root, 'before'),
    new AllocationFolder(root, 'after'),
  ]
  await before.make(before.of('one'))
  await before.make(before.of('two'))
  await writeFile(join(before.shared, 'data/from'), 'before')
  await mkdir(join(before.path, 'three'))
  await symlink('/etc', join(before.path, 'three/local'))
  await after.inherit('before', ['one', 'two', 'three', 'none'])
  t.equal(await readFile(join(after.shared, 'data/from'), 'utf8'), 'before')
  await t.rejects(access(join(after.path, 'three')), { code: 'ENOENT' })
  // A start that broke off begins anew.
  await before.make(before.of('one'))
  await writeFile(join(before.shared, 'data/from'), 'later')
  await after.inherit('before', ['one'])
  t.equal(await readFile(join(after.shared, 'data/from'), 'utf8'), 'before')
})

t.test('an heir that is stopped while it waits passes on what it was to take over', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const before = servers.place(1, 'service', slow(keeps), sticky)
  await servers.becomes(before, 'running')
  const pid = await pidOf(folder, before)
  servers.stop(before)
  const sleeps = shell('exec sleep 1000')
  const waiting = servers.place(2, 'service', sleeps, sticky, { previous: before })
  await servers.becomes(waiting, 'pending')
  servers.stop(waiting)
  const last = servers.place(3, 'service', sleeps, sticky, { previous: waiting })
  await servers.becomes(last, 'running')
  t.notOk(runs(pid))
  const { allocations } = workFolders(folder)
  t.equal(await readFile(join(allocations, last, 'main/local/own'), 'utf8'), 'own\n')
  t.equal(await readFile(join(allocations, last, 'alloc/data/all'), 'utf8'), 'all\n')
  servers.stop(last)
  await servers.becomes(last, 'complete')
})

t.test('also one that the agent first hears of when it is stopped already', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const before = servers.place(1, 'service', slow(keeps), sticky)
  await servers.becomes(before, 'running')
  await pidOf(folder, before)
  const held = Promise.withResolvers<void>()
  servers.untilFeed = held.promise
  servers.stop(before)
  const sleeps = shell('exec sleep 1000')
  const never = servers.place(2, 'service', sleeps, sticky, { previous: before })
  servers.stop(never)
  const last = servers.place(3, 'service', sleeps, sticky, { previous: never })
  held.resolve()
  await servers.becomes(last, 'running')
  const { allocations } = workFolders(folder)
  t.equal(await readFile(join(allocations, last, 'main/local/own'), 'utf8'), 'own\n')
  servers.stop(last)
  await servers.becomes(last, 'complete')
})
