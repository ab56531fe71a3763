/** The work of a machine: what servers want runs, also over restarts of the agent, and what became of it is told. */
import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import { leave, RegistryStandIn, startedRunner, until, type Tasks } from './server-stand-in.ts'
import { mock, pidOf, runs, setting, shell } from './tasks.ts'

t.test('what is placed runs until it is stopped', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const id = servers.place(1, 'service', shell('echo $$; exec sleep 1000'))
  await servers.becomes(id, 'running')
  const pid = await pidOf(folder, id)
  t.ok(runs(pid))
  servers.stop(id)
  const { tasks } = await servers.becomes(id, 'complete')
  t.notOk(runs(pid))
  t.strictSame(
    tasks[0]?.events.map(({ type }) => type),
    ['Received', 'Task Setup', 'Started', 'Killing', 'Terminated', 'Killed'],
  )
})

t.test('a task has its folders and its environment, and nothing of the agent', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const script = 'pwd; echo "$NOMAD_TASK_NAME $MUSTER_ALLOC_INDEX $NOMAD_META_COLOR$SECRET"'
  const tasks = shell(
    `${script} $OWN; echo \${NOMAD_JOB_ID} \${node.class} > "$NOMAD_SECRETS_DIR/x"`,
  )
  const id = servers.place(7, 'batch', [{ ...tasks[0], Env: { OWN: 'at ${node.unique.name}' } }], {
    Meta: { color: 'blue' },
  })
  await servers.becomes(id, 'complete')
  const own = join(workFolders(folder).allocations, id)
  t.equal(
    await readFile(join(own, 'alloc/logs/main.stdout.0'), 'utf8'),
    `${join(own, 'main')}\nmain 7 blue at box\n`,
  )
  t.equal(await readFile(join(own, 'main/secrets/x'), 'utf8'), 'job fast\n')
  t.equal((await stat(join(own, 'main/secrets'))).mode & 0o777, 0o700)
  const state = join(workFolders(folder).state, `${id}.json`)
  t.equal((await stat(state)).mode & 0o777, 0o600, 'a specification may hold secrets')
})

t.test('tasks go on while the agent is away, and are found again', async (t) => {
  const { folder, servers } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  const service = servers.place(1, 'service', shell('echo $$; exec sleep 1000'))
  const batch = servers.place(2, 'batch', shell('echo $$; while [ ! -e go ]; do sleep 0.05; done'))
  const timed = servers.place(3, 'batch', mock({ run_for: '200ms', exit_code: 0 }))
  for (const id of [service, batch, timed]) await servers.becomes(id, 'running')
  const pid = await pidOf(folder, service)
  const batchPid = await pidOf(folder, batch)
  await leave(first)
  await writeFile(join(workFolders(folder).allocations, batch, 'main/go'), '')
  await until(
    () => !runs(batchPid),
    () => 'it ends alone',
  )
  t.ok(runs(pid), 'nothing ended with the agent')
  await startedRunner(t, servers, { folder })
  const { tasks } = await servers.becomes(batch, 'complete')
  t.match(tasks[0]?.events.at(-1)?.displayMessage, 'Exit Code: 0', 'it is known how it ended')
  await servers.becomes(timed, 'complete')
  t.ok(runs(pid))
  t.equal(servers.reports.get(service)?.tasks[0]?.restarts, 0)
  servers.stop(service)
  await servers.becomes(service, 'complete')
  t.notOk(runs(pid))
})

t.test('a task is started again by its policy, in the same allocation', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const policy = { Attempts: 1, Interval: 60e9, Delay: 1e6, Mode: 'fail' }
  const id = servers.place(1, 'service', mock({ exit_code: 3 }), { RestartPolicy: policy })
  const { tasks } = await servers.becomes(id, 'failed')
  t.equal(tasks[0]?.restarts, 1)
  t.match(tasks[0]?.events.at(-1), { type: 'Not Restarting' })
})

t.test('work that no server knows of any more is stopped', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const id = servers.place(1, 'service', shell('echo $$; exec sleep 1000'))
  const pid = await pidOf(folder, id)
  servers.remove(id)
  await until(
    () => !runs(pid),
    () => 'it still runs',
  )
})

t.test('a server that is behind ends nothing', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const id = servers.place(1, 'service', mock({ run_for: '1h' }))
  await servers.becomes(id, 'running')
  const { index } = servers
  servers.index = 3
  servers.remove(id)
  servers.index = index
  const next = servers.place(2, 'service', mock({ run_for: '1h' }))
  await servers.becomes(next, 'running')
  await servers.becomes(id, 'complete')
  t.pass('but one that is not behind does')
})

t.test('health is told once the tasks run for long enough', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const rules = { MinHealthyTime: 50e6, HealthyDeadline: 200e6 }
  const good = servers.place(1, 'service', mock({ run_for: '1h' }), { Update: rules })
  const slow = servers.place(2, 'service', mock({ start_block_for: '1h' }), { Update: rules })
  const healthy = await servers.reported(good, ({ health }) => health !== null)
  t.equal(healthy.health?.healthy, true)
  const late = await servers.reported(slow, ({ health }) => health !== null)
  t.equal(late.health?.healthy, false, 'the deadline passed')
})

t.test(
  'services of tasks are registered while they run, and health waits for their checks',
  async (t) => {
    const { folder, servers } = await setting(t)
    const registry = new RegistryStandIn()
    await startedRunner(t, servers, { folder, registry })
    const check = { Type: 'tcp', Interval: 1e9, Timeout: 1e9 }
    const service = {
      Name: 'web-${NOMAD_GROUP_NAME}',
      PortLabel: '8080',
      Tags: ['a'],
      TaggedAddresses: { wan: '${NOMAD_META_wan}:80', lan: '10.0.0.8' },
      Weights: { Passing: 10 },
      Checks: [check],
    }
    const id = servers.place(
      1,
      'service',
      [{ ...mock({ run_for: '1h' })[0], Meta: { wan: '192.0.2.7' }, Services: [service] }],
      {
        Services: [{ Name: 'all', PortLabel: '80' }],
        Update: { MinHealthyTime: 1e6, HealthyDeadline: 60e9 },
      },
    )
    await servers.becomes(id, 'running')
    const [own, group] = registry.services()
    t.match(own, { name: 'web-group', address: '10.0.0.7', port: 8080, tags: ['a'] })
    t.strictSame(own?.taggedAddresses, [
      ['wan', '192.0.2.7', 80],
      ['lan', '10.0.0.8', 8080],
    ])
    t.strictSame(own?.weights, { passing: 10, warning: 1 })
    const plain = { taggedAddresses: [], weights: { passing: 1, warning: 1 } }
    t.match(group, { name: 'all', port: 80, ...plain })
    t.ok(own?.id.startsWith(`_muster-task-${id}-main-`))
    t.equal(servers.reports.get(id)?.health, null, 'its check does not pass')
    registry.checks.set(`${own?.id}-check-0`, 'passing')
    const { health } = await servers.reported(id, (report) => report.health !== null)
    t.equal(health?.healthy, true)
    servers.stop(id)
    await servers.becomes(id, 'complete')
    t.strictSame(registry.services(), [])
  },
)

t.test(
  'checks keep what was found while the agent is restarted, and begin anew with their task',
  async (t) => {
    const { folder, servers } = await setting(t)
    const registry = new RegistryStandIn()
    const first = await startedRunner(t, servers, { folder, registry })
    const check = { Type: 'tcp', Interval: 1e9, Timeout: 1e9, InitialStatus: 'warning' }
    const services = [{ Name: 'web', PortLabel: '80', Checks: [check] }]
    const id = servers.place(1, 'service', [{ ...mock({ run_for: '1h' })[0], Services: services }])
    await servers.becomes(id, 'running')
    const checkId = `${registry.services()[0]?.id}-check-0`
    t.equal(registry.check(checkId)?.state.status, 'warning')
    registry.checks.set(checkId, 'passing')
    await leave(first)
    const second = await startedRunner(t, servers, { folder, registry })
    await servers.becomes(id, 'running')
    t.equal(registry.check(checkId)?.state.status, 'passing')
    second.find(id)?.restart('', false)
    await servers.reported(id, ({ tasks }) => tasks[0]?.restarts === 1)
    await until(
      () => registry.check(checkId)?.state.status === 'warning',
      () => 'it is as it was',
    )
  },
)

t.test(
  'services of allocations that are gone are removed at the start, others are not',
  async (t) => {
    const { folder, servers } = await setting(t)
    const registry = new RegistryStandIn()
    const first = await startedRunner(t, servers, { folder, registry })
    const services = [{ Name: 'web', PortLabel: '80' }]
    const id = servers.place(1, 'service', [{ ...mock({ run_for: '1h' })[0], Services: services }])
    await servers.becomes(id, 'running')
    const [own] = registry.services()
    if (own === undefined) throw new Error('it is registered')
    await registry.registerService({ ...own, id: '_muster-task-of-none' }, [])
    await registry.registerService({ ...own, id: 'by-hand' }, [])
    await leave(first)
    t.equal(registry.services().length, 3, 'the agent leaves what runs on')
    await startedRunner(t, servers, { folder, registry })
    await until(
      () => registry.services().length === 2,
      () => JSON.stringify(registry.services()),
    )
    t.strictSame(
      registry.services().map((service) => service.id),
      [own.id, 'by-hand'],
    )
  },
)

t.test('a check that the agent could not read back is not registered', async (t) => {
  const { folder, servers } = await setting(t)
  const registry = new RegistryStandIn()
  await startedRunner(t, servers, { folder, registry })
  const check = { Type: 'tcp', Interval: 1e9, Timeout: 3_600e9 }
  const services = (Checks: object[]) => [{ Name: 'web', PortLabel: '80', Checks }]
  const [main] = mock({ run_for: '1h' })
  const long = servers.place(1, 'service', [{ ...main, Services: services([check]) }])
  await servers.becomes(long, 'running')
  const well = servers.place(2, 'service', [{ ...main, Services: services([]) }])
  await servers.becomes(well, 'running')
  t.equal(registry.services().length, 1)
  t.match(registry.services()[0]?.id, well)
})

t.test('reports wait for the servers', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const id = servers.place(1, 'batch', mock({ run_for: '50ms', exit_code: 0 }))
  await servers.becomes(id, 'running')
  servers.isThere = false
  await new Promise((resolve) => setTimeout(resolve, 100))
  servers.isThere = true
  await servers.becomes(id, 'complete')
})

t.test('of allocations that ended the newest files are kept', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder, endedMax: 1 })
  const ids = [1, 2, 3].map((number) => servers.place(number, 'batch', mock({ exit_code: 0 })))
  for (const id of ids) await servers.becomes(id, 'complete')
  const folders = ids.map((id) => join(workFolders(folder).allocations, id))
  await until(
    () => folders.filter((path) => existsSync(path)).length <= 1,
    () => 'files are left',
    async () => void servers.place(99, 'batch', mock({ exit_code: 0 })),
  )
})

t.test('a stop without delay ends also what is in its delay already', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const tasks = [{ ...shell('exec sleep 1000')[0], Name: 'main', ShutdownDelay: 600e9 }]
  const [first, second] = [servers.place(1, 'service', tasks), servers.place(2, 'service', tasks)]
  for (const id of [first, second]) await servers.becomes(id, 'running')
  servers.stop(first)
  await servers.reported(
    first,
    (report) => report.tasks[0]?.events.at(-1)?.type === 'Waiting for shutdown delay',
  )
  servers.stop(first, { skipsDelay: true })
  servers.stop(second, { skipsDelay: true })
  for (const id of [first, second]) await servers.becomes(id, 'complete')
})

t.test('tasks are restarted and signalled by hand, in their allocation', async (t) => {
  const { folder, servers } = await setting(t)
  const runner = await startedRunner(t, servers, { folder })
  const script = 'trap "echo hup" HUP; echo started; while :; do sleep 0.05; done'
  const [main] = shell(script)
  const ended = { ...mock({})[0], Name: 'ended', Lifecycle: { Hook: 'prestart', Sidecar: false } }
  const id = servers.place(1, 'service', [{ ...main, Name: 'main' }, ended])
  await servers.becomes(id, 'running')
  const here = runner.find(id)
  if (here === null) throw new Error('it is here')
  const output = join(workFolders(folder).allocations, id, 'alloc/logs/main.stdout.0')
  const printed = (text: string) => {
    let now = ''
    return until(
      () => now === text,
      () => `printed: ${now}`,
      async () => {
        now = await readFile(output, 'utf8').catch(() => '')
      },
    )
  }
  await printed('started\n')
  here.signal('main', 'sighup')
  await printed('started\nhup\n')
  here.restart('', false)
  t.throws(() => here.restart('main', false), { code: 'conflict' }, 'it ends just now')
  await servers.reported(id, ({ tasks }) => tasks[0]?.restarts === 1)
  await printed('started\nhup\nstarted\n')
  t.match(
    servers.reports.get(id)?.tasks[0]?.events.map(({ type }) => type),
    ['Received', 'Task Setup', 'Started', 'Signaling', 'Restart Signaled', 'Killing'],
  )
  t.throws(() => here.restart('other', false), { code: 'not_found' })
  t.throws(() => here.signal('ended', 'SIGHUP'), { code: 'conflict', message: 'Task not running' })
  t.throws(() => here.signal('main', 'SIGNOT'), { code: 'invalid_argument' })
  t.equal(servers.reports.get(id)?.tasks[1]?.restarts, 0, 'what ended stays so')
})

/** Each tells of its start and its end in one file, in which the end of `main` takes a while. */
function turnTasks(): Tasks {
  const tells = (name: string, then: string) =>
    shell(`cd "$NOMAD_ALLOC_DIR"; echo "+${name}" >> turns; ${then}`)[0]
  const runs = (name: string) =>
    `trap "sleep 0.2; echo -${name} >> turns; exit 0" INT; while :; do sleep 0.05; done`
  const hook = (Hook: string, Sidecar = false) => ({ Lifecycle: { Hook, Sidecar } })
  return [
    { ...tells('main', runs('main')), Name: 'main' },
    { ...tells('init', 'sleep 0.1; echo -init >> turns'), Name: 'init', ...hook('prestart') },
    { ...tells('side', runs('side')), Name: 'side', ...hook('prestart', true) },
    { ...tells('after', 'echo -after >> turns'), Name: 'after', ...hook('poststart') },
    { ...tells('last', 'echo -last >> turns'), Name: 'last', ...hook('poststop') },
  ]
}

t.test('all tasks of an allocation are run again by hand, in their turns', async (t) => {
  const { folder, servers } = await setting(t)
  const runner = await startedRunner(t, servers, { folder })
  const id = servers.place(1, 'service', turnTasks())
  const ranTimes = (times: number) =>
    servers.reported(id, ({ tasks }) => {
      const [main, init, side, after] = tasks
      const [ended, up] = [
        [init, after],
        [main, side],
      ].map((some) => some.filter(Boolean))
      return (
        tasks.slice(0, 4).every(({ restarts }) => restarts === times) &&
        ended?.every((task) => task?.state === 'dead') === true &&
        up?.every((task) => task?.state === 'running') === true
      )
    })
  const rounds = [await ranTimes(0)]
  const here = runner.find(id)
  if (here === null) throw new Error('it is here')
  here.restart('', true)
  rounds.push(await ranTimes(1))
  servers.stop(id)
  const { tasks } = await servers.becomes(id, 'complete')
  t.equal(tasks[4]?.restarts, 0)
  for (const { tasks: told } of rounds) {
    const [main = NaN, , side = NaN, after = NaN] = told.map(({ startedMs }) => startedMs ?? NaN)
    t.ok(side <= main && main <= after, 'each begins after those before it')
  }
  t.match(tasks[1]?.events.map(({ type }) => type).slice(-4), [
    'Restart Signaled',
    'Task Setup',
    'Started',
    'Terminated',
  ])
  const turns = await readFile(join(workFolders(folder).allocations, id, 'alloc/turns'), 'utf8')
  const lines = turns.trim().split('\n')
  const at = (line: string, round: number) =>
    lines.flatMap((one, index) => (one === line ? [index] : []))[round] ?? NaN
  for (const round of [0, 1]) {
    t.ok(at('-init', round) < at('+main', round), turns)
  }
  t.ok(Math.max(at('-main', 0), at('-side', 0)) < Math.min(at('+init', 1), at('+side', 1)), turns)
  t.strictSame(lines.slice(-2), ['+last', '-last'])
  t.throws(() => here.restart('', true), { code: 'conflict', message: /has ended/ })
})

t.test('an agent that is restarted meanwhile has all tasks run again nevertheless', async (t) => {
  const { folder, servers } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  const id = servers.place(1, 'service', turnTasks())
  const upAgain = (times: number) =>
    servers.reported(
      id,
      ({ tasks: [main, init, , after] }) =>
        main?.state === 'running' &&
        after?.state === 'dead' &&
        [main, init, after].every((task) => task?.restarts === times),
    )
  await upAgain(0)
  first.find(id)?.restart('', true)
  await leave(first)
  await startedRunner(t, servers, { folder })
  await upAgain(1)
  servers.stop(id)
  await servers.becomes(id, 'complete')
})

t.test('what is not to run on without servers ends by itself, as failed', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const ends = { StopAfterClientDisconnect: 2_500_000_000 }
  const id = servers.place(1, 'batch', shell('echo $$; exec sleep 1000'), ends)
  const other = servers.place(2, 'service', shell('echo $$; exec sleep 1000'))
  await servers.becomes(id, 'running')
  await servers.becomes(other, 'running')
  const [pid, kept] = [await pidOf(folder, id), await pidOf(folder, other)]
  servers.isThere = false
  const sinceMs = performance.now()
  await until(
    () => !runs(pid),
    () => 'it runs on',
  )
  t.ok(performance.now() - sinceMs > 2_000, 'not at once')
  t.ok(runs(kept))
  servers.isThere = true
  const { tasks } = await servers.becomes(id, 'failed')
  t.match(tasks[0]?.events.at(2)?.displayMessage, /Task started/)
  t.match(tasks[0]?.events.at(3)?.displayMessage, /No server answered/)
})

t.test('what servers ask about again is told again, and runs on', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  const id = servers.place(1, 'service', shell('echo $$; exec sleep 1000'))
  await servers.becomes(id, 'running')
  const pid = await pidOf(folder, id)
  servers.reports.delete(id)
  servers.touch(id)
  await servers.becomes(id, 'running')
  t.ok(runs(pid))
  t.equal(await pidOf(folder, id), pid)
})
