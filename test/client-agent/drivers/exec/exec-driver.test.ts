/** Commands within walls: their end, their signals, and how they are found again. */
import { execFile } from 'node:child_process'
import { chown, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import type { Exit } from '../../../../src/client-agent/drivers/driver.ts'
import { ExecDriver } from '../../../../src/client-agent/drivers/exec/exec-driver.ts'
import { processesWith } from '../../../../src/client-agent/drivers/process-identity.ts'
import { ofShells } from '../../../../src/client-agent/drivers/exec/sealed-environment.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { countOf } from '../../../support/command-lines.ts'
import { driverFor, execTask, lines, printedBy, started } from './within.ts'

function known(code: number, message = ''): Exit {
  return { type: 'known', code, signal: code > 128 ? code - 128 : 0, message }
}

/** Of this test alone, also where it runs twice on one machine. */
const nap = String(1_000_000 + process.pid)
const untilTold = 'while [ ! -e /local/go ]; do sleep 0.05; done'

t.test('a task has its user, environment and folders, and its output is in files', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const script =
    'echo "$GREETING $USER $HOME $0"; id -un; pwd; ls -d alloc local secrets tmp; no; exit 3'
  const task = await execTask(t, driver, script)
  t.strictSame(await (await started(t, driver, task)).ended, known(3))
  t.strictSame((await readFile(task.stdout, 'utf8')).trim().split('\n'), [
    'hi nobody /local /usr/bin/sh',
    'nobody',
    '/',
    'alloc',
    'local',
    'secrets',
    'tmp',
  ])
  t.match(await readFile(task.stderr, 'utf8'), /no: not found\n$/)
})

t.test('output is opened anew by its names', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const script = 'echo one >>/dev/stdout; echo two >>/proc/self/fd/2'
  const task = await execTask(t, driver, script)
  t.strictSame(await (await started(t, driver, task)).ended, known(0))
  t.equal(await readFile(task.stdout, 'utf8'), 'one\n')
  t.equal(await readFile(task.stderr, 'utf8'), 'two\n')
})

t.test('an environment comes through byte by byte', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const strange = ' a"b\'c\\d\n$(id) `id` \u0001\u0081\u0088é*'
  const env = { STRANGE: strange, IFS: ':', PATH: '/usr/bin', CDPATH: '/usr', UID: '7' }
  t.equal(await printedBy(t, driver, 'printf %s "$STRANGE"', { env }), strange)
})

t.test('names with a dot, and those that shells keep, come through too', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const task = await execTask(t, driver, '', {
    config: { command: 'env', args: ['-0'] },
  })
  const env: Record<string, string> = {
    ...task.env,
    'discovery.type': ' a"b\'c\\d\n$(id) ${HOME} é#*',
    program: 'own',
  }
  for (const name of ofShells) env[name] = `own ${name}`
  const running = await started(t, driver, { ...task, env })
  t.strictSame(await running.ended, known(0))
  const names = (await readFile(task.stdout, 'utf8')).split('\0')
  for (const [name, value] of Object.entries(env)) t.ok(names.includes(`${name}=${value}`), name)
  t.notMatch(names.join('\0'), /MUSTER_(DOTTED|SEALED)/)
})

t.test('signals reach the task, and tell of its end as they do of any', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const cases: readonly [script: string, signal: string, Exit][] = [
    ['trap "echo asked; exit 7" INT; echo up; while :; do sleep 0.05; done', 'SIGINT', known(7)],
    ['echo up; exec sleep 1000', 'SIGINT', known(128 + 2)],
    ['echo up; exec sleep 1000', 'term', known(128 + 15)],
    ['echo up; exec sleep 1000', 'SIGQUIT', known(128 + 3)],
    ['trap "" INT TERM; echo up; exec sleep 1000', 'SIGKILL', known(128 + 9)],
    ['trap "exit 5" USR1; echo up; while :; do sleep 0.05; done', 'SIGUSR1', known(5)],
  ]
  for (const [script, signal, exit] of cases) {
    const task = await execTask(t, driver, script)
    const running = await started(t, driver, task)
    await lines(task, 1)
    running.signal(signal)
    t.strictSame(await running.ended, exit, `${signal}: ${script}`)
  }
})

t.test('what a task left running is gone with it, however it hid', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const hide = `setsid sh -c "(env -i sleep ${nap} & env -i setsid sleep ${nap} &)"; sleep 0.2`
  const sleepers = () => countOf('sleep', nap)
  const task = await execTask(t, driver, `${hide}; echo up; ${untilTold}`)
  const running = await started(t, driver, task)
  await lines(task, 1)
  t.equal(await sleepers(), 2)
  await writeFile(join(task.local, 'go'), '')
  t.strictSame(await running.ended, known(0))
  t.equal(await sleepers(), 0, 'when it ended by itself')
  const stubborn = await execTask(t, driver, `trap "" INT TERM; ${hide}; echo up; sleep ${nap}`)
  const other = await started(t, driver, stubborn)
  await lines(stubborn, 1)
  t.equal(await sleepers(), 3)
  other.kill()
  t.strictSame(await other.ended, known(128 + 9))
  t.equal(await sleepers(), 0, 'when it was killed')
})

t.test('another process of the agent finds a task again, and how it ended', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const task = await execTask(t, driver, `trap "exit 9" INT; echo up; ${untilTold}; exit 4`)
  const running = await started(t, driver, task)
  await lines(task, 1)
  const found = driver.recover(task, running.handle)
  t.strictSame((await driver.find(task))?.handle, running.handle, 'also by its marks alone')
  await writeFile(join(task.local, 'go'), '')
  t.strictSame(await found.ended, known(4))
  t.strictSame(await driver.recover(task, running.handle).ended, known(4), 'and afterwards')
  const second = await execTask(t, driver, `trap "exit 9" INT; echo up; ${untilTold}`)
  const other = await started(t, driver, second)
  await lines(second, 1)
  driver.recover(second, other.handle).signal('SIGINT')
  t.strictSame(await other.ended, known(9))
})

t.test('what cannot be started says why', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const refusal = async (more: Parameters<typeof execTask>[3], code: string, message: RegExp) => {
    const task = await execTask(t, driver, '', { ...more, user: '' })
    const { signal } = new AbortController()
    await t.rejects(driver.start({ ...task, ...more }, signal), { code, message })
  }
  await refusal({ config: { command: '/none' } }, 'invalid_argument', /there is no program \/none/)
  await refusal({ config: { command: 'cd' } }, 'invalid_argument', /there is no program cd/)
  await refusal({ user: 'root' }, 'invalid_argument', /runs no task as root/)
  const long = { command: 'true', args: ['x'.repeat(200_000)] }
  await refusal({ config: long }, 'invalid_argument', /true does not start: .*E2BIG/)
  const mounts = [{ source: '/no/such/folder', destination: '/data', readOnly: true }]
  await refusal({ mounts }, 'unavailable', /walls of the task cannot be built: mount: .*\/no\/such/)
})

t.test('a program is looked for in its own folders first', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  // As templates and artifacts leave it: the task's, and seldom executable.
  for (const [command, mode] of [
    ['own', 0o644],
    ['local/own', 0o755],
    ['/local/own', 0o600],
  ] as const) {
    const task = await execTask(t, driver, '', { config: { command, args: ['a b'] } })
    const { uid, gid } = await stat(task.local)
    await writeFile(join(task.local, 'own'), '#!/bin/sh\necho "own $1"\n', { mode })
    await chown(join(task.local, 'own'), uid, gid)
    await (
      await started(t, driver, task)
    ).ended
    t.equal(await readFile(task.stdout, 'utf8'), 'own a b\n', command)
  }
})

t.test('a start that is not wanted any more ends', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const task = await execTask(t, driver, 'sleep 1000')
  await t.rejects(driver.start(task, AbortSignal.abort()), { code: 'cancelled' })
  t.same(await processesWith([`MUSTER_ALLOC_ID=${task.allocation}`]), [])
})

t.test('a task is in its control group, whose limits its end tells of', async (t) => {
  const root = t.testdir({ 'cgroup.controllers': 'cpu memory pids' })
  const driver = await driverFor(t, root)
  if (driver === null) return
  t.equal(driver.health.description, 'Healthy')
  t.strictSame(new Map(driver.health.attributes).get('driver.exec.cgroups'), 'cpu,memory,pids')
  const task = await execTask(t, driver, `echo up; ${untilTold}; kill -9 $$`)
  const own = { ...task, allocation: 'id' }
  const running = await started(t, driver, own)
  await lines(task, 1)
  const folder = join(root, 'muster.slice/id.main.scope')
  t.match(await readFile(join(folder, 'cgroup.procs'), 'utf8'), /^\d+\n$/)
  await writeFile(join(folder, 'memory.events'), 'oom_kill 1\n')
  await writeFile(join(task.local, 'go'), '')
  t.strictSame(await running.ended, { ...known(137, 'OOM Killed'), oomKilled: true })
  t.equal(await readFile(join(folder, 'cgroup.kill'), 'utf8'), '1')
})

t.test('an agent that may build no walls says what it lacks', async (t) => {
  if ((await driverFor(t)) === null) return
  const module = (path: string) => JSON.stringify(import.meta.resolve(`../../../../src/${path}`))
  const program = [
    `const { ExecDriver } = await import(${module('client-agent/drivers/exec/exec-driver.ts')})`,
    `const { systemClock: clock } = await import(${module('lib/clock.ts')})`,
    `const { health } = await ExecDriver.open({ parent: 'x', root: '/none', clock })`,
    'console.log(JSON.stringify(health))',
  ].join('\n')
  const without = ['--bounding-set=-sys_admin', '--inh-caps=-sys_admin']
  const words = [...without, process.execPath, '--input-type=module', '-e', program]
  const { stdout } = await promisify(execFile)('setpriv', words, { env: { PATH: '/usr/bin' } })
  t.strictSame(JSON.parse(stdout), {
    detected: true,
    healthy: false,
    description:
      'exec needs root, or CAP_SYS_ADMIN: unshare: unshare failed: Operation not permitted',
    attributes: [],
  })
})

t.test(
  'a driver that is not enabled tries no walls, and ends what it started before',
  async (t) => {
    const driver = await driverFor(t)
    if (driver === null) return
    const task = await execTask(t, driver, `echo up; exec sleep ${nap}`)
    const { handle } = await started(t, driver, task)
    await lines(task, 1)
    const later = await ExecDriver.open({
      enabled: false,
      parent: 'muster.slice',
      clock: systemClock,
    })
    t.match(later.health, { healthy: false, description: 'exec is not enabled' })
    const found = later.recover(task, handle)
    found.kill()
    t.match(await found.ended, { code: 137 })
  },
)

t.test('where no limits can be set, the driver says so and runs tasks', async (t) => {
  const driver = await driverFor(t, t.testdir())
  if (driver === null) return
  t.match(driver.health.description, /^Healthy; no cgroup v2 at .*: tasks run without limits$/)
  t.equal(await printedBy(t, driver, 'echo runs'), 'runs\n')
})
