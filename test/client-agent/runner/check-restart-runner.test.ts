/** Checks that find a task unhealthy restart it, by its restart policy. What they find is as a test says. */
import t, { type Test } from 'tap'
import { CheckHolders } from '../../../src/client-agent/runner/check-holders.ts'
import type { ClientReport } from '../../../src/domains/allocations/model.ts'
import type { CheckStatus } from '../../../src/domains/catalog/model.ts'
import { leave, RegistryStandIn, startedRunner, until, type Tasks } from './server-stand-in.ts'
import { movableClock } from '../../support/movable-clock.ts'
import { mock, setting } from './tasks.ts'

const name = 'is it well'
const policy = { Attempts: 1, Interval: 600e9, Delay: 1e6, Mode: 'fail' }
const rule = { Limit: 2, Grace: 0, IgnoreWarnings: false }

function check(restart: object, more: object = {}) {
  const every = { Interval: 1e9, Timeout: 1e9 }
  return { Name: name, Type: 'tcp', PortLabel: '80', ...every, CheckRestart: restart, ...more }
}

function serving(...checks: object[]): Tasks {
  const services = [{ Name: 'web', PortLabel: '80', Checks: checks }]
  return [{ ...mock({ run_for: '1h' })[0], Services: services }]
}

async function started(t: Test) {
  const { folder, servers } = await setting(t)
  const clock = movableClock()
  const agent = { folder, registry: new RegistryStandIn(), holders: new CheckHolders(), clock }
  const runner = await startedRunner(t, servers, agent)
  const { registry, holders } = agent
  /** Looks at the first check of the service, once it is registered. */
  const looks = async (...statuses: readonly CheckStatus[]) => {
    let id: string | undefined
    await until(
      () => id !== undefined,
      () => 'no service is registered',
      async () => void (id = registry.services()[0]?.id),
    )
    for (const status of statuses) holders.looked(`${id}-check-0`, status)
  }
  const restarted = (id: string, times: number) =>
    servers.reported(id, ({ tasks: [task] }) => {
      return task?.restarts === times && task.state === 'running'
    })
  return { agent, servers, runner, looks, restarted }
}

function eventsOf({ tasks }: ClientReport, task = 0): readonly string[] | undefined {
  return tasks[task]?.events.map(({ type, displayMessage }) =>
    type === 'Restart Signaled' ? displayMessage : type,
  )
}

t.test(
  'a check that stays critical restarts its task, until the policy has no attempt left',
  async (t) => {
    const { servers, looks, restarted } = await started(t)
    const id = servers.place(1, 'service', serving(check(rule)), { RestartPolicy: policy })
    await servers.becomes(id, 'running')
    await looks('critical', 'passing', 'critical', 'passing', 'warning')
    t.equal(servers.reports.get(id)?.tasks[0]?.restarts, 0, 'what passes in between resets')
    await looks('critical', 'critical', 'critical')
    t.strictSame(eventsOf(await restarted(id, 1))?.slice(2), [
      'Started',
      `healthcheck: check "${name}" unhealthy`,
      'Killing',
      'Terminated',
      'Killed',
      'Restarting',
      'Started',
    ])
    await looks('critical')
    t.equal(servers.reports.get(id)?.tasks[0]?.state, 'running', 'it counts anew')
    await looks('critical')
    const failed = await servers.becomes(id, 'failed')
    t.equal(failed.tasks[0]?.events.at(-1)?.type, 'Not Restarting')
  },
)

t.test('nothing counts within the grace, nor do warnings that are to be ignored', async (t) => {
  const { agent, servers, looks, restarted } = await started(t)
  const first = check({ Limit: 1, Grace: 3_600e9 })
  const id = servers.place(1, 'service', serving(first), { RestartPolicy: policy })
  await servers.becomes(id, 'running')
  agent.clock.aheadMs = 7_200_000
  await looks('critical', 'critical', 'critical')
  servers.stop(id)
  const ended = await servers.becomes(id, 'complete')
  t.notMatch(String(eventsOf(ended)), /healthcheck/)
  const second = check({ Limit: 1, Grace: 0, IgnoreWarnings: true })
  const other = servers.place(2, 'service', serving(second), { RestartPolicy: policy })
  await servers.becomes(other, 'running')
  await looks('warning', 'warning')
  t.equal(servers.reports.get(other)?.tasks[0]?.restarts, 0)
  await looks('critical')
  await restarted(other, 1)
})

t.test('a check of the group restarts the task that it names, else all that run on', async (t) => {
  const { servers, looks } = await started(t)
  const [main] = mock({ run_for: '1h' })
  const hook = { Hook: 'prestart', Sidecar: true }
  const tasks = [main, { ...main, Name: 'side', Lifecycle: hook }].flatMap((task) => task ?? [])
  const group = (task: string) => ({
    RestartPolicy: policy,
    Services: [
      {
        Name: 'web',
        PortLabel: '80',
        Checks: [check(rule, task === '' ? {} : { TaskName: task })],
      },
    ],
  })
  const rows = [
    { task: 'side', wanted: [0, 1] },
    { task: '', wanted: [1, 1] },
  ]
  for (const [at, { task, wanted }] of rows.entries()) {
    const id = servers.place(at, 'service', tasks, group(task))
    await servers.reported(id, (report) => report.tasks.every(({ state }) => state === 'running'))
    await looks('critical', 'critical')
    await servers.reported(id, (report) =>
      report.tasks.every(({ restarts, state }, index) => {
        return restarts === wanted[index] && state === 'running'
      }),
    )
    servers.stop(id)
    const ended = await servers.becomes(id, 'complete')
    t.strictSame(
      ended.tasks.map(({ restarts }) => restarts),
      wanted,
      task,
    )
  }
})

t.test('an agent that is restarted goes on to look, and counts anew', async (t) => {
  const { agent, servers, runner, looks, restarted } = await started(t)
  const id = servers.place(1, 'service', serving(check(rule)), { RestartPolicy: policy })
  await servers.becomes(id, 'running')
  await looks('critical')
  await leave(runner)
  await looks('critical', 'critical')
  await startedRunner(t, servers, agent)
  await looks('critical')
  t.equal(servers.reports.get(id)?.tasks[0]?.restarts, 0, 'what was seen meanwhile was not for it')
  await looks('critical')
  await restarted(id, 1)
})
