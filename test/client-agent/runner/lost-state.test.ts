/** Files of the agent's own state that it cannot read: what it started before is looked after again, or ended. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import { leave, startedRunner, until } from './server-stand-in.ts'
import { pidOf, runs, setting, shell } from './tasks.ts'

/** Its agent has left, and there are no more than `text` of its state. */
async function damaged(t: Test, number: number, text: string | null) {
  const { folder, servers } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  const id = servers.place(number, 'service', shell('echo $$; exec sleep 1000'))
  await servers.becomes(id, 'running')
  const pid = await pidOf(folder, id)
  await leave(first)
  const path = join(workFolders(folder).state, `${id}.json`)
  const before = await readFile(path, 'utf8')
  if (text === null) await rm(path)
  else await writeFile(path, text)
  const printed = () =>
    readFile(join(workFolders(folder).allocations, id, 'alloc/logs/main.stdout.0'), 'utf8')
  return { folder, servers, id, pid, path, before, printed }
}

for (const [what, number, text] of [
  ['damaged', 7_301, '{"version":1'],
  ['gone', 7_302, null],
] as const) {
  t.test(`a task whose state is ${what} is not started twice`, async (t) => {
    const { folder, servers, id, pid, printed } = await damaged(t, number, text)
    servers.reports.clear()
    const second = await startedRunner(t, servers, { folder })
    await servers.becomes(id, 'running')
    t.ok(runs(pid))
    t.equal(await printed(), `${pid}\n`)
    second.find(id)?.restart('', false)
    await servers.reported(id, ({ tasks }) => tasks[0]?.restarts === 1)
    t.notOk(runs(pid), 'it is restarted as another one is')
    let output = ''
    await until(
      () => output.split('\n').length === 3,
      () => `it was not started again: ${output}`,
      async () => {
        output = await printed()
      },
    )
    await servers.reported(id, ({ tasks }) => tasks[0]?.state === 'running')
    t.equal(servers.reports.get(id)?.tasks[0]?.restarts, 1)
    servers.stop(id)
    await servers.becomes(id, 'complete')
  })
}

t.test('a state that was lost once ends no task hard that ends over a restart', async (t) => {
  const { folder, servers } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  const script = `trap 'sleep 2; echo ended; exit 0' INT; echo $$; while :; do sleep 0.1; done`
  const [task] = shell(script)
  const id = servers.place(7_306, 'service', [{ ...task, KillTimeout: 20e9 }])
  await servers.becomes(id, 'running')
  await pidOf(folder, id)
  await leave(first)
  const { state, allocations } = workFolders(folder)
  await writeFile(join(state, `${id}.json`), 'no JSON')
  servers.reports.clear()
  const second = await startedRunner(t, servers, { folder })
  await servers.becomes(id, 'running')
  servers.stop(id)
  await until(
    () => second.find(id)?.assigned.desiredStatus === 'stop',
    () => 'it is not told of the stop',
  )
  await leave(second)
  t.same(await readdir(state), [`${id}.json`], 'what was put aside is removed')
  servers.reports.clear()
  await startedRunner(t, servers, { folder })
  await servers.becomes(id, 'complete')
  t.match(await readFile(join(allocations, id, 'alloc/logs/main.stdout.0'), 'utf8'), /ended/)
})

t.test('where it is stopped, or gone, what runs of it is ended', async (t) => {
  const text = 'no JSON'
  const stopped = await damaged(t, 7_303, text)
  stopped.servers.reports.clear()
  stopped.servers.stop(stopped.id)
  const gone = await damaged(t, 7_304, text)
  gone.servers.remove(gone.id)
  for (const { folder, servers, pid } of [stopped, gone]) {
    await startedRunner(t, servers, { folder })
    await until(
      () => !runs(pid),
      () => 'it runs on',
    )
  }
  await stopped.servers.becomes(stopped.id, 'complete')
  let left: string[] = []
  await until(
    () => left.length === 0,
    () => `what was put aside is left: ${left.join(' ')}`,
    async () => {
      left = await readdir(workFolders(gone.folder).state)
    },
  )
})

t.test('an agent does not start on the state of a newer program', async (t) => {
  const { folder, servers, id, pid, path, before } = await damaged(t, 7_305, '{"version":2}')
  await t.rejects(startedRunner(t, servers, { folder }), {
    code: 'incompatible',
    message: new RegExp(`^${path} is of format 2, and this program reads up to 1: start the newer`),
  })
  t.equal(await readFile(path, 'utf8'), '{"version":2}', 'it is left')
  await writeFile(path, before)
  await startedRunner(t, servers, { folder })
  await servers.becomes(id, 'running')
  t.ok(runs(pid))
})
