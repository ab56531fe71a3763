/** Containers as tasks, by a stand-in for the daemon: started, followed, found again, ended and removed. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Engine } from '../../../src/client-agent/drivers/docker/engine.ts'
import type { TaskToStart } from '../../../src/client-agent/drivers/driver.ts'
import type { ExecOutput } from '../../../src/client-agent/drivers/exec-process.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { DockerEngine } from '../../support/docker/engine.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { allocation, begun, never, nodeId, nothing, setting, shellTask } from './docker-setting.ts'

async function untilPrinted({ stdout }: TaskToStart, text: string): Promise<void> {
  await eventuallyTrue(`${text} is printed`, async () =>
    (await readFile(stdout, 'utf8').catch(() => '')).includes(text),
  )
}

const forever = 'while :; do sleep 0.05; done'

t.test(
  'a container has its folders and environment; its output, its end and its removal follow',
  async (t) => {
    const { engine, driver } = await setting(t)
    const script = 'echo "$GREETING"; echo no >&2; echo kept > /local/x; printf rest; exit 3'
    const task = await shellTask(t, script, {}, { env: { GREETING: 'hi', DIR: '/alloc/data' } })
    const running = await begun(t, driver, task)
    t.match(engine.container, {
      name: `main-${allocation}`,
      asked: {
        Labels: { 'muster.alloc_id': allocation, 'muster.node_id': nodeId },
        Env: ['GREETING=hi', 'DIR=/alloc/data'],
        HostConfig: { CpuShares: 100, Memory: 100 * 2 ** 20, MemorySwap: 100 * 2 ** 20 },
      },
    })
    t.strictSame(await running.ended, { type: 'known', code: 3, signal: 0, message: '' })
    t.equal(await readFile(task.stdout, 'utf8'), 'hi\nrest')
    t.equal(await readFile(task.stderr, 'utf8'), 'no\n')
    t.equal(await readFile(join(task.local, 'x'), 'utf8'), 'kept\n')
    t.equal((await stat(task.secrets)).mode & 0o777, 0o777, 'for whichever user it has')
    t.equal(engine.containers.size, 0, 'it is removed')
  },
)

t.test('a container is asked to end by the signal of its image, and killed', async (t) => {
  const { engine, driver } = await setting(t)
  engine.images.set('polite:1', { words: ['/bin/sh'], stopSignal: '3' })
  const script = `trap "echo asked; exit 7" QUIT; echo ready; ${forever}`
  const task = await shellTask(t, script, { image: 'polite:1' })
  const polite = await begun(t, driver, task)
  await untilPrinted(task, 'ready')
  t.equal(polite.killSignal, '3')
  polite.signal('3')
  t.match(await polite.ended, { code: 7, signal: 0 })
  t.throws(() => polite.signal('SIGNOPE'), { code: 'invalid_argument' })
  const stubborn = await shellTask(t, `trap "" TERM; echo ready; ${forever}`)
  const deaf = await begun(t, driver, stubborn)
  await untilPrinted(stubborn, 'ready')
  t.equal(deaf.killSignal, 'SIGTERM')
  deaf.signal('SIGTERM')
  deaf.kill()
  t.match(await deaf.ended, { code: 137, signal: 9 })
  const large = await begun(t, driver, await shellTask(t, forever))
  engine.container.runOutOfMemory()
  const outOfMemory = { message: 'OOM Killed', oomKilled: true, hasFailed: true }
  t.match(await large.ended, { code: 137, ...outOfMemory })
  const parent = await begun(t, driver, await shellTask(t, 'sleep 0.3; exit 0'))
  // The kernel ends a process of it, not the first one.
  engine.container.oomKilled = true
  t.match(await parent.ended, { code: 0, ...outOfMemory })
})

t.test(
  'another process of the agent finds a container again, and what it wrote meanwhile',
  async (t) => {
    const { engine, driver, driverAgain } = await setting(t)
    const script =
      'echo one; while [ ! -e /local/two ]; do sleep 0.05; done; echo two; while [ ! -e /local/end ]; do sleep 0.05; done; echo three; exit 4'
    const task = await shellTask(t, script)
    const first = await driver.start(task, never, nothing)
    await untilPrinted(task, 'one')
    first.release()
    await writeFile(join(task.local, 'two'), '')
    await eventuallyTrue('it wrote', () => Promise.resolve(engine.container.pieces.length === 2))
    const second = driverAgain().recover(task, first.handle)
    await untilPrinted(task, 'two')
    second.release()
    await writeFile(join(task.local, 'end'), '')
    await eventuallyTrue('it ended', () => Promise.resolve(engine.container.status === 'exited'))
    const third = driverAgain().recover(task, first.handle)
    t.match(await third.ended, { type: 'known', code: 4 })
    t.equal(
      await readFile(task.stdout, 'utf8'),
      'one\ntwo\nthree\n',
      'nothing is lost, nothing twice',
    )
    t.equal(engine.containers.size, 0)
    const fourth = driverAgain().recover(task, first.handle)
    t.match(
      await fourth.ended,
      { type: 'known', code: 4 },
      'it was written down before the removal',
    )
    const gone = driverAgain().recover(task, { type: 'docker', containerId: 'ab'.repeat(32) })
    t.match(await gone.ended, { type: 'unknown', reason: 'the container is gone' })
  },
)

t.test('a container whose handle was not written is found by its name', async (t) => {
  const { engine, driver, driverAgain } = await setting(t)
  const task = await shellTask(t, forever)
  t.equal(await driver.find(task), null)
  const first = await driver.start(task, never, nothing)
  first.release()
  const found = await driverAgain().find(task)
  t.strictSame(found?.handle, first.handle)
  found?.kill()
  t.match(await found?.ended, { code: 137 })
  const other = await shellTask(t, forever, {}, { allocation: `${allocation}-2` })
  const left = await driver.start(other, never, nothing)
  left.release()
  const again = await begun(t, driver, other)
  t.notSame(again.handle, left.handle, 'what an earlier start left gives way')
  t.equal(engine.containers.size, 1)
  const named = await shellTask(t, 'true', {}, { task: 'ma/in' })
  const like = await shellTask(t, 'true', {}, { task: 'ma_in' })
  ;(await driver.start(named, never, nothing)).release()
  await t.rejects(driver.start(like, never, nothing), { message: /that is another's/ })
})

t.test(
  'a missing image is pulled, once for all, with what the registry wants to know',
  async (t) => {
    const { engine, driver, lines } = await setting(t)
    const pulls = Promise.withResolvers<void>()
    engine.pulls = pulls.promise
    engine.registry.set('reg:5000/team/web:2', { words: ['/bin/true'] })
    const told: string[] = []
    const auth = [{ username: 'ada', password: 'hunter2' }]
    const config = { image: 'reg:5000/team/web:2', auth }
    const one = await shellTask(t, 'true', config)
    const two = await shellTask(t, 'true', config, { task: 'other' })
    const starts = [one, two].map((task) => driver.start(task, never, (text) => told.push(text)))
    await eventuallyTrue('both wait', () => Promise.resolve(told.length === 2))
    pulls.resolve()
    for (const started of await Promise.all(starts)) t.match(await started.ended, { code: 0 })
    t.same(told, Array(2).fill('Downloading image reg:5000/team/web:2'))
    const [pull, ...more] = engine.asked('POST /images/create')
    t.equal(more.length, 0)
    const sent = String(pull?.headers['x-registry-auth'])
    t.match(JSON.parse(Buffer.from(sent, 'base64url').toString()), { password: 'hunter2' })
    t.notMatch(lines.join('\n'), /hunter2/)
  },
)

t.test('a pull that fails says what Docker said, and whether another try may help', async (t) => {
  const { engine, driver } = await setting(t)
  engine.registry.set('broken:1', 'unexpected EOF')
  const failing = (image: string) =>
    shellTask(t, 'true', { image }).then((task) => driver.start(task, never, nothing))
  await t.rejects(failing('none:1'), {
    code: 'not_found',
    message: /the image none:1 cannot be pulled: Docker said: pull access denied/,
  })
  await t.rejects(failing('broken:1'), { code: 'unavailable', message: /unexpected EOF/ })
  const late = new Promise<void>(() => {})
  engine.pulls = late
  engine.registry.set('slow:1', { words: ['/bin/true'] })
  const slow = await shellTask(t, 'true', { image: 'slow:1', image_pull_timeout: '100ms' })
  const took = { code: 'unavailable', message: /it took over 0.1s/ }
  await t.rejects(driver.start(slow, never, nothing), took)
  const aborting = new AbortController()
  const task = await shellTask(t, 'true', { image: 'slow:1' })
  const aborted = driver.start(task, aborting.signal, () => aborting.abort())
  await t.rejects(aborted, { code: 'cancelled' })
  engine.images.set('local:latest', { words: ['/bin/true'] })
  const local = await begun(t, driver, await shellTask(t, 'exit 2', { image: 'local' }))
  t.match(await local.ended, { code: 2 }, 'one that is here is used')
})

t.test('a command runs beside a container, with a terminal or without', async (t) => {
  const { driver, engine } = await setting(t)
  const task = await shellTask(t, forever, {}, { env: { GREETING: 'hi' } })
  const running = await begun(t, driver, task)
  const script = 'read line; echo "$GREETING $line"; echo no >&2; exit 5'
  const command = await driver.exec(task, { words: ['/bin/sh', '-c', script], tty: false })
  t.ok(command.write(Buffer.from('there\n')))
  command.endInput()
  t.strictSame(await outputOf(command.output), { stdout: 'hi there\n', stderr: 'no\n', code: 5 })
  await command.ended
  const words = ['/bin/sh', '-c', 'echo $$; sleep 1000']
  const long = await driver.exec(task, { words, tty: true })
  long.resize({ rows: 10, columns: 20 })
  const { value } = (await long.output.next()) as { value: { data: Buffer } }
  const pid = Number(value.data.toString())
  await eventuallyTrue('it has its size', () =>
    Promise.resolve(engine.heard.some(({ query }) => query.get('h') === '10')),
  )
  await long.output.return?.()
  await long.ended
  await eventuallyTrue('what nobody reads is killed', () => Promise.resolve(!isAlive(pid)))
  running.kill()
  await running.ended
  const late = driver.exec(task, { words: ['true'], tty: false })
  await t.rejects(late, { code: 'not_found', message: /No such container/ })
})

async function outputOf(output: AsyncIterable<ExecOutput>) {
  const found = { stdout: '', stderr: '', code: -1 }
  for await (const one of output) {
    if (one.type === 'exited') found.code = one.code
    else found[one.type] += Buffer.from(one.data).toString()
  }
  return found
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('what a container takes is what the daemon says', async (t) => {
  const { driver } = await setting(t)
  const running = await begun(t, driver, await shellTask(t, forever))
  t.strictSame(await running.usage?.(), {
    percent: 50,
    userPercent: 40,
    systemPercent: 10,
    rssBytes: 10 * 1024 * 1024,
    swapBytes: 0,
  })
})

t.test('the output of a terminal is one stream', async (t) => {
  const { driver } = await setting(t)
  const task = await shellTask(t, 'echo out; echo err >&2; sleep 0.1; printf end', { tty: true })
  await (
    await begun(t, driver, task)
  ).ended
  const text = await readFile(task.stdout, 'utf8')
  t.same(text.split('\n').toSorted(), ['end', 'err', 'out'])
})

t.test('long lines of a terminal have no times within, and are told once', async (t) => {
  const { driver, driverAgain, engine } = await setting(t)
  const script =
    'head -c 200000 /dev/zero | tr "\\0" x; while [ ! -e /local/end ]; do sleep 0.05; done; echo end'
  const task = await shellTask(t, script, { tty: true })
  const first = await driver.start(task, never, nothing)
  const lengthOf = async () => (await readFile(task.stdout, 'utf8').catch(() => '')).length
  // The last piece waits for its end.
  await eventuallyTrue('much of it is copied', async () => (await lengthOf()) >= 11 * 16_384)
  first.release()
  await writeFile(join(task.local, 'end'), '')
  await eventuallyTrue('it ended', () => Promise.resolve(engine.container.status === 'exited'))
  await driverAgain().recover(task, first.handle).ended
  t.equal(await readFile(task.stdout, 'utf8'), `${'x'.repeat(200_000)}end\n`)
})

t.test('a daemon that hangs, goes and comes back ends no task', async (t) => {
  const { driver, engine } = await setting(t)
  const task = await shellTask(
    t,
    `echo one; while [ ! -e /local/two ]; do sleep 0.05; done; echo two; exit 6`,
  )
  const running = await begun(t, driver, task)
  await untilPrinted(task, 'one')
  t.match(await driver.condition(), {
    healthy: true,
    attributes: [['driver.docker.version', '27.3.1']],
  })
  await engine.down()
  await writeFile(join(task.local, 'two'), '')
  t.match(await driver.condition(), {
    healthy: false,
    description: `${engine.socketPath} cannot be reached: there is no such socket`,
  })
  const other = await shellTask(t, 'true', {}, { task: 'other' })
  await t.rejects(driver.find(other), { code: 'unavailable', message: /no such socket/ })
  await t.rejects(driver.start(other, never, nothing), { code: 'unavailable' })
  engine.hangs = true
  await engine.up()
  t.match(await driver.condition(), { healthy: false, description: /did not answer .* within 5s/ })
  await engine.down()
  engine.hangs = false
  await engine.up()
  t.match(await running.ended, { type: 'known', code: 6 })
  t.equal(await readFile(task.stdout, 'utf8'), 'one\ntwo\n')
})

t.test('what is left of allocations that are over goes, and nothing of others', async (t) => {
  const { driver, engine } = await setting(t)
  for (const name of ['a', 'b']) {
    const task = await shellTask(t, forever, {}, { allocation: name })
    ;(await driver.start(task, never, nothing)).release()
  }
  const json = { Image: 'busybox:1', Env: [], Labels: {}, Tty: false, HostConfig: { Mounts: [] } }
  await makeOther(engine, json)
  await driver.sweep((allocation) => allocation === 'a')
  t.same(
    [...engine.containers.values()].map(({ name }) => name),
    ['main-a', 'of-another'],
  )
})

/** Someone else makes a container. */
async function makeOther(engine: DockerEngine, json: unknown): Promise<void> {
  const query = { name: 'of-another' }
  await new Engine(engine.socketPath, systemClock).ask({
    method: 'POST',
    path: '/containers/create',
    query,
    json,
  })
}
