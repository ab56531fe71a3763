/** Commands beside a task within walls: in its namespaces, with its user, root and environment, with and without a terminal. */
import t from 'tap'
import type { RunningCommand } from '../../../../src/client-agent/drivers/exec-process.ts'
import { processesWith } from '../../../../src/client-agent/drivers/process-identity.ts'
import { eventuallyTrue } from '../../../support/eventually.ts'
import { driverFor, execTask, lines, started } from './within.ts'

type Said = { readonly out: string; readonly err: string; readonly code: number }

async function said(running: RunningCommand): Promise<Said> {
  let out = ''
  let err = ''
  for await (const output of running.output) {
    if (output.type === 'exited') return { out, err, code: output.code }
    const text = Buffer.from(output.data).toString()
    if (output.type === 'stdout') out += text
    else err += text
  }
  throw new Error('a command ends')
}

t.test('a command has the walls of its task', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const task = await execTask(t, driver, 'echo $$ >/tmp/pid; echo up; exec sleep 1000')
  await started(t, driver, task)
  await lines(task, 1)
  const ask = async (...words: readonly string[]) =>
    said(await driver.exec(task, { words, tty: false }))
  const script = [
    'id -un; pwd; echo $GREETING; ls /; kill -0 $(cat /tmp/pid) && echo sees',
    'for ns in pid mnt ipc; do',
    '  [ "$(readlink /proc/self/ns/$ns)" = "$(readlink /proc/$(cat /tmp/pid)/ns/$ns)" ] && echo same',
    'done; touch /x; grep CapEff /proc/self/status; echo wrong >&2; exit 7',
  ].join('\n')
  const { out, err, code } = await ask('sh', '-c', script)
  const plain = out
    .split('\n')
    .filter((line) => !/^(bin|sbin|lib|lib32|lib64|libx32|usr)$/.test(line))
  t.strictSame(plain, [
    'nobody',
    '/',
    'hi',
    'alloc',
    'dev',
    'etc',
    'local',
    'proc',
    'secrets',
    'tmp',
    'var',
    'sees',
    'same',
    'same',
    'same',
    'CapEff:\t0000000000000000',
    '',
  ])
  t.match(err, /cannot touch '\/x'.*\nwrong\n$/)
  t.equal(code, 7)
  t.match(await ask('/none'), { code: 127, err: 'there is no program /none\n' })
  t.match(await ask('sh', '-c', 'kill -9 $$'), { code: 137 })
})

t.test('a command has a terminal where it asks for one', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const task = await execTask(t, driver, 'echo up; exec sleep 1000')
  await started(t, driver, task)
  await lines(task, 1)
  const words = [
    'sh',
    '-c',
    'test -t 0 && test -t 1 && echo "$TERM"; id -un; read line; echo "<$line>"',
  ]
  const running = await driver.exec(task, { words, tty: true })
  running.write(Buffer.from('typed\n'))
  const { out, code } = await said(running)
  // The terminal's echo comes when it likes.
  t.match(out, /xterm-256color\r\n(typed\r\n)?nobody\r\n/)
  t.match(out, /<typed>\r\n/)
  t.equal(code, 0)
})

t.test('a command that is not wanted any more ends, with all that it started', async (t) => {
  const driver = await driverFor(t)
  if (driver === null) return
  const task = await execTask(t, driver, 'echo up; exec sleep 1000')
  const main = await started(t, driver, task)
  await lines(task, 1)
  const mine = async () => (await processesWith([`MUSTER_ALLOC_ID=${task.allocation}`])).length
  const before = await mine()
  const words = ['sh', '-c', 'setsid sleep 1000 & sleep 1000']
  const running = await driver.exec(task, { words, tty: false })
  await eventuallyTrue('it runs', async () => (await mine()) >= before + 3)
  running.kill()
  await running.ended
  await eventuallyTrue('it is gone', async () => (await mine()) === before)
  main.kill()
  await main.ended
  await t.rejects(driver.exec(task, { words, tty: false }), { code: 'conflict' })
})

t.test(
  'a task that moved on to a root of its own making cannot lend it to a command',
  async (t) => {
    const driver = await driverFor(t)
    if (driver === null) return
    const script = [
      'cp /usr/bin/true /local/setpriv',
      'exec unshare -Urm sh -c "mount --bind /local /usr/bin; echo up; exec 3</dev/zero; read x <&3"',
    ].join('\n')
    const task = await execTask(t, driver, script)
    await started(t, driver, task)
    await lines(task, 1)
    const running = await driver.exec(task, { words: ['id', '-un'], tty: false })
    t.match(await said(running), { out: 'nobody\n', code: 0 })
  },
)
