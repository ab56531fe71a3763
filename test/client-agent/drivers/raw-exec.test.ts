/** Commands as tasks: their output, their end, and how they are found again. */
import { link, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Exit, StartedTask, TaskToStart } from '../../../src/client-agent/drivers/driver.ts'
import { parseStat, processState } from '../../../src/client-agent/drivers/process-identity.ts'
import { RawExecDriver } from '../../../src/client-agent/drivers/raw-exec.ts'
import { asItIs, untilBegun } from '../../../src/client-agent/drivers/command-as-it-is.ts'
import { filesOf, startProcess } from '../../../src/client-agent/drivers/supervised-process.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { codeOf, textOf } from '../../../src/lib/errors.ts'
import { taskOf } from './task-of.ts'

const driver = new RawExecDriver(systemClock)
const deadlineMs = 20_000

function scriptOf(t: Test, script: string, more: Partial<TaskToStart> = {}): Promise<TaskToStart> {
  return taskOf(t, { command: '/bin/sh', args: ['-c', script] }, more)
}

async function started(t: Test, script: string): Promise<[TaskToStart, StartedTask]> {
  const task = await scriptOf(t, script)
  const running = await driver.start(task)
  t.teardown(() => running.kill())
  return [task, running]
}

/** What the task printed, once it is a whole line. */
async function printed({ stdout }: TaskToStart): Promise<string> {
  const untilMs = systemClock.monotonicMs() + deadlineMs
  while (systemClock.monotonicMs() < untilMs) {
    const text = await readFile(stdout, 'utf8').catch(() => '')
    if (text.endsWith('\n')) return text.trim()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('the task printed nothing')
}

async function untilGone(pid: number): Promise<boolean> {
  const untilMs = systemClock.monotonicMs() + deadlineMs
  while (systemClock.monotonicMs() < untilMs) {
    if (processState(pid)?.isZombie !== false) return true
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return false
}

function known(code: number): Exit {
  const signal = code > 128 ? code - 128 : 0
  return { type: 'known', code, signal, message: '' }
}

t.test('a task has its environment and folder, and its output is in files', async (t) => {
  const [task, running] = await started(t, 'echo "$GREETING $HOME$0"; pwd; echo no >&2; exit 3')
  t.strictSame(await running.ended, known(3))
  t.equal(await readFile(task.stdout, 'utf8'), `hi /bin/sh\n${task.folder}\n`)
  t.equal(await readFile(task.stderr, 'utf8'), 'no\n')
})

t.test('names with a dot arrive, and their values are in no arguments', async (t) => {
  const env = {
    ...(await taskOf(t, {})).env,
    'discovery.type': ' a"b\'c\\d\n$(id) ${GREETING} \u0001é#*',
    'x.': 'it stays',
    plain: 'p',
  }
  const script = String.raw`tr "\0" "\n" </proc/$PPID/cmdline`
  const task = await scriptOf(t, script, { env })
  const running = await driver.start(task)
  t.teardown(() => running.kill())
  t.strictSame(await running.ended, known(0))
  const above = await readFile(task.stdout, 'utf8')
  t.match(above, /"x\.=\$\{MUSTER_DOTTED_1\}"/)
  t.notMatch(above, /it stays/)
  const own = await taskOf(t, { command: '/usr/bin/env', args: ['-0'] }, { env })
  await (
    await driver.start(own)
  ).ended
  const names = (await readFile(own.stdout, 'utf8')).split('\0')
  for (const [name, value] of Object.entries(env)) t.ok(names.includes(`${name}=${value}`), name)
  t.notMatch(names.join('\0'), /MUSTER_DOTTED/)
})

t.test('a command beside a task has names with a dot too', async (t) => {
  const env = { ...(await taskOf(t, {})).env, 'a.b': 'c d' }
  const task = await scriptOf(t, 'sleep 60', { env })
  for (const tty of [false, true]) {
    const beside = await driver.exec(task, { words: ['env'], tty })
    let text = ''
    for await (const one of beside.output) {
      if (one.type === 'stdout') text += Buffer.from(one.data).toString()
    }
    t.match(text, /^a\.b=c d\r?$/m)
    t.notMatch(text, /MUSTER_DOTTED/)
  }
})

t.test('a program with = in its path is refused beside names with a dot', async (t) => {
  const env = { ...(await taskOf(t, {})).env, 'a.b': 'c' }
  const task = await taskOf(t, { command: './a=b' }, { env })
  await writeFile(join(task.folder, 'a=b'), '#!/bin/sh\n', { mode: 0o700 })
  await t.rejects(driver.start(task), { code: 'invalid_argument', message: /has = in its path/ })
  const { 'a.b': _dotted, ...others } = env
  t.strictSame(await (await driver.start({ ...task, env: others })).ended, known(0))
})

t.test('output goes behind what earlier runs of the task wrote', async (t) => {
  const task = await scriptOf(t, 'echo two')
  await writeFile(task.stdout, 'one\n')
  await (
    await driver.start(task)
  ).ended
  t.equal(await readFile(task.stdout, 'utf8'), 'one\ntwo\n')
})

t.test('output goes through no link', async (t) => {
  const task = await scriptOf(t, 'echo one')
  await symlink(join(task.folder, 'elsewhere'), task.stdout)
  await t.rejects(driver.start(task), /does not start: .*ELOOP/)
})

t.test('an interrupt is for the task, which may end as it likes', async (t) => {
  const script = 'trap "echo asked; exit 7" INT; echo ready; while :; do sleep 0.05; done'
  const [task, running] = await started(t, script)
  await printed(task)
  running.signal('SIGINT')
  t.strictSame(await running.ended, known(7))
  t.equal(await readFile(task.stdout, 'utf8'), 'ready\nasked\n')
})

t.test('a signal that ends a task is told, by any of its names', async (t) => {
  const [task, running] = await started(t, 'echo ready; exec sleep 100')
  await printed(task)
  running.signal('term')
  t.strictSame(await running.ended, known(128 + 15))
  t.throws(() => running.signal('SIGNOPE'), { code: 'invalid_argument' })
})

t.test('a kill is for all of its process group', async (t) => {
  const script = 'trap "" INT TERM; sleep 1000 & echo $!; wait; sleep 1000'
  const [task, running] = await started(t, script)
  const child = Number(await printed(task))
  running.kill()
  t.strictSame(await running.ended, known(128 + 9))
  t.ok(await untilGone(child))
})

t.test('what a task leaves running is gone when it ended', async (t) => {
  const [task, running] = await started(t, 'sleep 1000 & echo $!')
  t.strictSame(await running.ended, known(0))
  t.ok(await untilGone(Number(await printed(task))))
})

t.test('another process of the agent finds a task again, and how it ended', async (t) => {
  const [task, running] = await started(
    t,
    'echo $$; while [ ! -e go ]; do sleep 0.05; done; exit 4',
  )
  await printed(task)
  const found = driver.recover(task, running.handle)
  await writeFile(join(task.folder, 'go'), '')
  t.strictSame(await found.ended, known(4))
  const late = driver.recover(task, running.handle)
  t.strictSame(await late.ended, known(4), 'also where it ended meanwhile')
})

t.test('an exit code is written where its file has room since the start', async (t) => {
  const [task, running] = await started(
    t,
    'echo $$; while [ ! -e go ]; do sleep 0.05; done; exit 7',
  )
  await printed(task)
  const ended = join(task.runFolder, 'ended')
  t.equal(await readFile(ended, 'utf8'), '---\n', 'it has not ended')
  // A second name: a file that is made anew would not be seen by it.
  const same = join(task.folder, 'same')
  await link(ended, same)
  await writeFile(join(task.folder, 'go'), '')
  await running.ended
  t.equal(await readFile(same, 'utf8'), '007\n')
})

t.test('pids are written where their file has room since the start', async (t) => {
  const [task] = await started(t, 'exit 0')
  t.match(await readFile(join(task.runFolder, 'pids'), 'utf8'), /^\d{10} \d{10}\n$/)
})

t.test('a task whose pid the disk refuses does not begin, and that is no exit of it', async (t) => {
  const task = await taskOf(t, {})
  const { env, folder, stdout, stderr } = task
  const startOn = async (pids: string, code: number): Promise<StartedTask> => {
    const words = asItIs(pids, ['/bin/sh', '-c', `echo it ran; exit ${code}`])
    const process = { name: 'it', words, env, folder, stdout, stderr, ...filesOf(task) }
    return untilBegun(await startProcess(process, systemClock), process, systemClock)
  }
  await t.rejects(startOn('/dev/full', 0), {
    code: 'unavailable',
    message: /^it does not start: its pid cannot be written to .*pids: does the disk take writes/,
  })
  t.equal(await readFile(stdout, 'utf8'), '')
  t.equal(await driver.find(task), null, 'nor is it found')
  const own = await startOn(join(task.runFolder, 'pids'), 125)
  t.strictSame(await own.ended, known(125), 'a code of its own')
})

t.test(
  'exit codes of earlier versions are read, and one that the disk refused is told',
  async (t) => {
    const [task, running] = await started(t, 'exit 3')
    await running.ended
    const ended = join(task.runFolder, 'ended')
    const read = (): Promise<Exit> => driver.recover(task, running.handle).ended
    t.strictSame(await read(), known(3))
    await writeFile(ended, '0\n')
    t.strictSame(await read(), known(0))
    await writeFile(ended, '')
    t.match(await read(), { type: 'unknown', reason: /exit code of the task could not be written/ })
    await writeFile(ended, '---\n')
    t.match(await read(), { type: 'unknown', reason: /was killed together/ })
  },
)

t.test('a task that was found is asked and killed as any', async (t) => {
  const [task, running] = await started(
    t,
    'trap "exit 5" INT; echo $$; while :; do sleep 0.05; done',
  )
  await printed(task)
  const found = driver.recover(task, running.handle)
  found.signal('SIGINT')
  t.strictSame(await found.ended, known(5))
  const [second, other] = await started(
    t,
    'trap "" INT; sleep 1000 & echo $!; while :; do sleep 1; done',
  )
  const child = Number(await printed(second))
  const again = driver.recover(second, other.handle)
  again.kill()
  t.strictSame(await again.ended, known(128 + 9))
  t.ok(await untilGone(child))
})

t.test('a start whose handle was not written is found by its marks', async (t) => {
  const [task, running] = await started(
    t,
    'echo $$; while [ ! -e go ]; do sleep 0.05; done; exit 6',
  )
  await printed(task)
  const found = await driver.find(task)
  t.strictSame(found?.handle, running.handle)
  await writeFile(join(task.folder, 'go'), '')
  await running.ended
  t.strictSame(await found?.ended, known(6))
  t.strictSame(await (await driver.find(task))?.ended, known(6), 'also where it ended meanwhile')
  t.equal(await driver.find(await scriptOf(t, 'true')), null)
})

t.test('a pid that another process has by now is left alone', async (t) => {
  const [task, running] = await started(t, 'echo $$; exec sleep 1000')
  await printed(task)
  const { handle } = running
  if (handle.type !== 'process') throw new Error('a process')
  const elsewhere = await scriptOf(t, 'true')
  for (const wrong of [{ startTicks: '1' }, { bootId: 'another' }]) {
    const found = driver.recover(elsewhere, { ...handle, ...wrong })
    found.signal('SIGKILL')
    found.kill()
    t.equal((await found.ended).type, 'unknown')
  }
  t.equal(processState(handle.pid)?.isZombie, false, 'it runs')
})

t.test('a program in the folders of its allocation becomes executable', async (t) => {
  const task = await taskOf(t, { command: 'own' })
  const own = join(task.folder, 'local/own')
  await mkdir(join(task.folder, 'local'), { recursive: true })
  await writeFile(own, '#!/bin/sh\necho own\n', { mode: 0o640 })
  await (
    await driver.start(task)
  ).ended
  t.equal(await readFile(task.stdout, 'utf8'), 'own\n')
  t.equal((await stat(own)).mode & 0o777, 0o751)
})

t.test('what cannot be started says why', async (t) => {
  const refusalOf = async (more: Partial<TaskToStart>): Promise<string> =>
    driver.start(await scriptOf(t, '', more)).then(
      () => 'started',
      (error: unknown) => `${codeOf(error)}: ${textOf(error)}`,
    )
  t.equal(
    await refusalOf({ config: { command: 'no-such-program' } }),
    'invalid_argument: there is no program no-such-program',
  )
  const text = join(t.testdir({ text: '' }), 'text')
  t.equal(
    await refusalOf({ config: { command: text } }),
    `invalid_argument: ${text} is not executable`,
  )
  t.match(await refusalOf({ config: {} }), 'raw_exec needs command')
  t.match(await refusalOf({ config: { command: 'true', image: 'x' } }), 'raw_exec knows no image')
  t.match(await refusalOf({ user: 'someone-else' }), 'not_implemented: raw_exec runs tasks as')
})

t.test('a name with blanks and parentheses does not shift the fields of a process', async (t) => {
  const fields = Array.from({ length: 30 }, (_, at) => String(at + 3))
  const text = `17 (a) b (c) S 5 6 ${fields.slice(3).join(' ')}`
  t.strictSame(parseStat(text), { parent: 5, group: 6, startTicks: '22', isZombie: false })
  t.equal(parseStat('nothing'), null)
})
