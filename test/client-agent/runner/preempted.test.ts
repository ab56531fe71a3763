/** Allocations that others end for, on the machine: they begin once those have ended. */
import t from 'tap'
import { leave, startedRunner } from './server-stand-in.ts'
import { mock, pidOf, runs, setting, shell } from './tasks.ts'

t.test('one that others end for begins once they have, also over a restart', async (t) => {
  const { folder, servers } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  // Deaf to the signal: it ends when it is killed.
  const deaf = shell("trap '' INT TERM; echo $$; while :; do sleep 0.05; done")
  const before = servers.place(1, 'service', [{ ...deaf[0], KillTimeout: 3_000_000_000 }])
  await servers.becomes(before, 'running')
  const pid = await pidOf(folder, before)
  servers.stop(before)
  const after = servers.place(2, 'service', shell('exec sleep 1000'), {}, { preempts: [before] })
  await servers.becomes(after, 'pending')
  const told = first.find(after)?.report.tasks[0]?.events
  first.find(after)?.restart('', true)
  t.same(first.find(after)?.report.tasks[0]?.events, told, 'a restart begins nothing')
  await leave(first)
  t.ok(runs(pid), 'its kill timeout is not over')
  t.equal(servers.reports.get(after)?.clientStatus, 'pending')
  await startedRunner(t, servers, { folder })
  await servers.becomes(after, 'running')
  t.notOk(runs(pid))
  servers.stop(after)
  await servers.becomes(after, 'complete')
})

t.test('one that others end for may be stopped while it waits', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const before = servers.place(1, 'service', mock({ run_for: '1h', kill_after: '1h' }))
  await servers.becomes(before, 'running')
  const after = servers.place(2, 'service', shell('exec sleep 1000'), {}, { preempts: [before] })
  await servers.becomes(after, 'pending')
  servers.stop(after)
  const { tasks } = await servers.becomes(after, 'complete')
  t.equal(tasks[0]?.startedMs, null)
  servers.stop(before)
  await servers.becomes(before, 'complete')
  t.equal(servers.reports.get(after)?.clientStatus, 'complete')
})
