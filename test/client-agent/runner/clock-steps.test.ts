/** The clock of the machine is set while tasks run: what lasts, lasts as long as its job says. */
import t from 'tap'
import type { ClientReport } from '../../../src/domains/allocations/model.ts'
import { movableClock } from '../../support/movable-clock.ts'
import { leave, startedRunner, until, type Tasks } from './server-stand-in.ts'
import { mock, pidOf, setting, shell } from './tasks.ts'

const hourMs = 3_600_000
/** Needs a second to end, and has long enough: once it has printed its pid. */
const slowToEnd = shell(
  "trap 'sleep 1; echo done; exit 0' INT; echo $$; while :; do sleep 0.05; done",
).map((task) => ({ ...task, KillTimeout: 25e9 }))

function beside(...tasks: readonly Tasks[]): Tasks {
  return tasks.flatMap((each, at) => each.map((task) => ({ ...task, Name: `t${at}` })))
}

function hasTold(type: string) {
  return ({ tasks }: ClientReport): boolean =>
    tasks.every(({ events }) => events.some((event) => event.type === type))
}

function ends({ tasks }: ClientReport, task = 0): unknown {
  return tasks[task]?.events.find(({ type }) => type === 'Terminated')?.displayMessage
}

async function agent(t: Parameters<typeof startedRunner>[0]) {
  const { folder, servers } = await setting(t)
  const clock = movableClock()
  const start = () => startedRunner(t, servers, { folder, clock })
  return { folder, servers, clock, start }
}

t.test('a clock that is set forward kills no task before its time', async (t) => {
  const { folder, servers, clock, start } = await agent(t)
  await start()
  const tasks = beside(slowToEnd, mock({ run_for: '1h', kill_after: '300ms' }))
  const id = servers.place(1, 'service', tasks)
  await servers.reported(id, hasTold('Started'))
  await pidOf(folder, id, 't0')
  servers.stop(id)
  await servers.reported(id, hasTold('Killing'))
  clock.aheadMs = hourMs
  const ended = await servers.becomes(id, 'complete')
  t.equal(ends(ended), 'Exit Code: 0', 'it ended by itself')
  const [at = 0] = ended.tasks.map(({ finishedMs }) => finishedMs ?? 0)
  t.ok(at > Date.now() + hourMs / 2, 'what is shown has the time of the clock')
})

t.test('nor where its agent is restarted then', async (t) => {
  const { folder, servers, clock, start } = await agent(t)
  const first = await start()
  const id = servers.place(1, 'service', slowToEnd)
  await pidOf(folder, id)
  servers.stop(id)
  await servers.reported(id, hasTold('Killing'))
  clock.aheadMs = hourMs
  await leave(first)
  await start()
  t.equal(ends(await servers.becomes(id, 'complete')), 'Exit Code: 0')
})

t.test('a clock that is set back delays neither a kill nor what comes before it', async (t) => {
  const { servers, clock, start } = await agent(t)
  await start()
  const [stubborn] = mock({ run_for: '1h', kill_after: '1h' })
  const id = servers.place(1, 'service', [
    { ...stubborn, Name: 'main', KillTimeout: 300e6, ShutdownDelay: 300e6 },
  ])
  await servers.becomes(id, 'running')
  servers.stop(id)
  await servers.reported(id, hasTold('Waiting for shutdown delay'))
  clock.aheadMs = -hourMs
  await servers.reported(id, hasTold('Killing'))
  clock.aheadMs = -2 * hourMs
  t.match(ends(await servers.becomes(id, 'complete')), /Signal: 9/)
})

t.test('nor does it delay a restart', async (t) => {
  const { servers, clock, start } = await agent(t)
  await start()
  const policy = { Attempts: 1, Interval: 60e9, Delay: 300e6, Mode: 'fail' }
  const id = servers.place(1, 'service', mock({ exit_code: 3 }), { RestartPolicy: policy })
  await servers.reported(id, hasTold('Restarting'))
  clock.aheadMs = -hourMs
  t.equal((await servers.becomes(id, 'failed')).tasks[0]?.restarts, 1)
})

t.test('health is judged by the time that passed', async (t) => {
  const { servers, clock, start } = await agent(t)
  const runner = await start()
  const slow = servers.place(1, 'service', mock({ run_for: '1h', start_block_for: '500ms' }), {
    Update: { MinHealthyTime: 50e6, HealthyDeadline: 60e9 },
  })
  const young = servers.place(2, 'service', mock({ run_for: '1h' }), {
    Update: { MinHealthyTime: 60e9, HealthyDeadline: 120e9 },
  })
  await servers.becomes(young, 'running')
  clock.aheadMs = hourMs
  const { health } = await servers.reported(slow, (report) => report.health !== null)
  t.equal(health?.healthy, true, 'its deadline has not passed')
  t.ok((health?.timeMs ?? 0) > Date.now() + hourMs / 2, 'it is told at the time of the clock')
  servers.touch(young)
  const index = servers.index
  await until(
    () => (runner.find(young)?.assigned.allocModifyIndex ?? 0) >= index,
    () => 'the agent has not looked',
  )
  t.equal(runner.find(young)?.report.health, null, 'it does not run for a minute yet')
  clock.aheadMs = -hourMs
  const late = servers.place(3, 'service', mock({ start_block_for: '1h' }), {
    Update: { MinHealthyTime: 50e6, HealthyDeadline: 300e6 },
  })
  await servers.becomes(late, 'pending')
  clock.aheadMs = -2 * hourMs
  const last = await servers.reported(late, (report) => report.health !== null)
  t.equal(last.health?.healthy, false, 'and a deadline comes in its time')
})
