/** What is told of tasks whose machine was cut off from its servers. */
import t from 'tap'
import { startedRunner } from './server-stand-in.ts'
import { mock, setting } from './tasks.ts'

t.test('servers that did not know of it for a while are told that it is back', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const id = servers.place(1, 'service', mock({ run_for: '1h' }))
  await servers.becomes(id, 'running')
  servers.touch(id, { isUnknown: true })
  const { tasks } = await servers.reported(
    id,
    (report) => report.tasks[0]?.events.at(-1)?.type === 'Reconnected',
  )
  t.match(tasks, [{ state: 'running', restarts: 0, events: { length: 4 } }], 'once, and it runs on')
  servers.stop(id)
})
