/** An agent that is restarted while tasks wait for their start. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import { leave, startedRunner, until } from './server-stand-in.ts'
import { pidOf, runs, setting, shell } from './tasks.ts'

/** No other test has these: processes are found by the allocation and the task that they are of, anywhere on the machine. */
const [waitingNumber, runningNumber] = [7_001, 7_002]

/** One that runs, and one whose template waits; their agent has left. */
async function left(t: Test) {
  const { folder, servers } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  const template = { EmbeddedTmpl: '{{ key "app/color" }}\n', DestPath: 'local/color' }
  const [main] = shell('cat local/color; exec sleep 1000')
  const waiting = servers.place(waitingNumber, 'service', [
    { ...main, Name: 'main', Templates: [template] },
  ])
  const running = servers.place(runningNumber, 'service', shell('echo $$; exec sleep 1000'))
  await servers.becomes(running, 'running')
  await servers.reported(waiting, ({ tasks: [task] }) => task?.events.at(-1)?.type === 'Template')
  const pid = await pidOf(folder, running)
  await leave(first)
  return { folder, servers, waiting, running, pid }
}

t.test('an agent does not wait for tasks that wait for servers', async (t) => {
  const { folder, servers, waiting, running, pid } = await left(t)
  servers.isThere = false
  const second = await startedRunner(t, servers, { folder })
  t.ok(runs(pid))
  t.equal(second.find(running)?.report.clientStatus, 'running', 'it is found')
  t.equal(second.find(waiting)?.report.clientStatus, 'pending')
  await leave(second)
  t.ok(runs(pid), 'it leaves without the start that waits')
  await startedRunner(t, servers, { folder })
  servers.isThere = true
  servers.tell('key app/color', { type: 'key', value: 'blue' })
  await servers.becomes(waiting, 'running')
  const output = join(workFolders(folder).allocations, waiting, 'alloc/logs/main.stdout.0')
  let printed = ''
  await until(
    () => printed === 'blue\n',
    () => `printed: ${printed}`,
    async () => {
      printed = await readFile(output, 'utf8').catch(() => '')
    },
  )
  t.equal(await pidOf(folder, running), pid)
  t.equal(servers.reports.get(running)?.tasks[0]?.restarts, 0)
})

t.test('a start that was given up before is not begun again', async (t) => {
  const { folder, servers, waiting, running } = await left(t)
  const path = join(workFolders(folder).state, `${waiting}.json`)
  const kept = JSON.parse(await readFile(path, 'utf8'))
  t.strictSame(kept.tasks[0].machine.phase, { type: 'starting', stop: null })
  kept.isStopped = true
  kept.tasks[0].machine.phase.stop = { because: null, isFailure: false }
  await writeFile(path, JSON.stringify(kept))
  const runner = await startedRunner(t, servers, { folder })
  await servers.becomes(waiting, 'complete')
  t.equal(runner.liveCount, 1)
  t.same(runner.heldFolders, [{ path: join(workFolders(folder).allocations, running), shareMb: 0 }])
})
