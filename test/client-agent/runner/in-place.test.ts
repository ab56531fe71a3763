/** Rules of a task that a new version of its job changes while it runs on. */
import t from 'tap'
import { leave, startedRunner, until } from './server-stand-in.ts'
import { pidOf, setting, shell } from './tasks.ts'

t.test('restarts and the end of a task go by the rules of the newest version', async (t) => {
  const { folder, servers } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  const RestartPolicy = { Attempts: 0, Interval: 60e9, Delay: 1e6, Mode: 'fail' }
  const script = 'trap "" INT; echo $$; while :; do sleep 0.05; done'
  const tasks = shell(script).map((task) => ({ ...task, KillTimeout: 20e9 }))
  const id = servers.place(740_411, 'service', tasks, { RestartPolicy })
  const pid = await pidOf(folder, id)
  await servers.becomes(id, 'running')
  const group = first.find(id)?.assigned.group
  if (group === undefined) throw new Error('it is here')
  const Tasks = group.Tasks.map((task) => ({
    ...task,
    KillTimeout: 100e6,
    RestartPolicy: { ...task.RestartPolicy, Attempts: 3 },
  }))
  servers.touch(id, { group: { ...group, Tasks }, jobVersion: 1 })
  await until(
    () => first.find(id)?.assigned.jobVersion === 1,
    () => 'the new version did not come',
  )
  process.kill(pid, 'SIGKILL')
  await servers.reported(id, ({ tasks: [main] }) => {
    return main?.restarts === 1 && main.state === 'running'
  })
  await leave(first)
  await startedRunner(t, servers, { folder })
  servers.stop(id)
  const { tasks: ended } = await servers.becomes(id, 'complete')
  t.match(
    ended[0]?.events.find(({ type }) => type === 'Killing'),
    { displayMessage: 'Sent interrupt. Waiting 100ms before force killing' },
  )
})
