/** An agent that is restarted while a task is being started again: what the run before left is not taken for the next one. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import { leave, startedRunner, until } from './server-stand-in.ts'
import { runs, setting, shell } from './tasks.ts'

const color = 'key app/color'
const template = {
  EmbeddedTmpl: '{{ key "app/color" }}\n',
  DestPath: 'local/color',
  ChangeMode: 'noop',
}

/** Its first task ran once, and waits for its template to run again; its agent has left. */
async function waitsAgain(t: Test, number: number, script: string) {
  const { folder, servers } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  servers.tell(color, { type: 'key', value: 'blue' })
  const [init, main] = [...shell(script), ...shell('exec sleep 1000')]
  const id = servers.place(number, 'service', [
    { ...init, Name: 'init', Lifecycle: { Hook: 'prestart' }, Templates: [template] },
    { ...main, Name: 'main' },
  ])
  await servers.becomes(id, 'running')
  const file = (name: string) =>
    readFile(join(workFolders(folder).allocations, id, name), 'utf8').catch(() => '')
  let text = ''
  const began = (times: number) =>
    until(
      () => text.split('\n').length - 1 === times,
      () => `it began so: ${text}`,
      async () => {
        text = await file('alloc/began')
      },
    )
  await servers.reported(id, ({ tasks }) => tasks[1]?.state === 'running')
  await began(1)
  servers.tell(color, { type: 'none' })
  first.find(id)?.restart('', true)
  await servers.reported(
    id,
    ({ tasks: [task] }) => task?.state === 'pending' && task.events.at(-1)?.type === 'Template',
  )
  await leave(first)
  return { folder, servers, id, file, began }
}

const begins = 'cat local/color >> ../alloc/began'

t.test('an exit code of before is not its own', async (t) => {
  const { folder, servers, id, began } = await waitsAgain(t, 7_201, begins)
  const second = await startedRunner(t, servers, { folder })
  t.match(second.find(id)?.report.tasks, [{ state: 'pending' }, { state: 'pending' }])
  servers.tell(color, { type: 'key', value: 'red' })
  await servers.reported(id, ({ tasks }) => tasks[1]?.state === 'running')
  await began(2)
})

t.test('a process that left its group is not the task', async (t) => {
  const away = "setsid sh -c 'echo $$ >> ../alloc/away; exec sleep 1000' & sleep 0.2"
  const made = await waitsAgain(t, 7_202, `${away}; ${begins}`)
  const { folder, servers, id, file, began } = made
  const pids = async () => (await file('alloc/away')).trim().split('\n').map(Number)
  for (const pid of await pids()) t.ok(runs(pid), 'it runs on')
  const second = await startedRunner(t, servers, { folder })
  t.match(second.find(id)?.report.tasks, [{ state: 'pending' }, { state: 'pending' }])
  servers.tell(color, { type: 'key', value: 'red' })
  await servers.reported(id, ({ tasks }) => tasks[1]?.state === 'running')
  await began(2)
  for (const pid of await pids()) process.kill(pid, 'SIGKILL')
})
