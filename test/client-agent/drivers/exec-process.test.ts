/** Commands beside tasks: what they say and are told, and that nothing of them is left. */
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import t, { type Test } from 'tap'
import {
  runCommand,
  type ExecOutput,
  type RunningCommand,
} from '../../../src/client-agent/drivers/exec-process.ts'
import { processState } from '../../../src/client-agent/drivers/process-identity.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'

async function started(
  t: Test,
  script: string,
  { tty = false, clock = systemClock } = {},
): Promise<RunningCommand> {
  const args = ['-c', script]
  const env = { PATH: '/usr/bin:/bin', OWN: 'of the task' }
  const command = { program: '/bin/sh', args, env, folder: tmpdir(), tty }
  const running = await runCommand(command, clock)
  t.teardown(() => running.kill())
  return running
}

async function said({ output }: RunningCommand) {
  const texts = { stdout: '', stderr: '' }
  for await (const item of output) {
    if (item.type === 'exited') return { ...texts, code: item.code }
    texts[item.type] += Buffer.from(item.data).toString()
  }
  return { ...texts, code: null }
}

t.test('what it says comes apart, and last how it ended', async (t) => {
  const running = await started(t, 'echo "$OWN"; echo wrong >&2; pwd; exit 7')
  t.same(await said(running), {
    stdout: `of the task\n${tmpdir()}\n`,
    stderr: 'wrong\n',
    code: 7,
  })
  t.match(await said(await started(t, 'kill -9 $$')), { code: 137 })
  const none = { program: '/none', args: [], env: {}, folder: tmpdir(), tty: false }
  await t.rejects(runCommand(none, systemClock), { code: 'invalid_argument', message: /\/none/ })
})

t.test('it reads what it is told, and is not told more than it reads', async (t) => {
  const running = await started(t, 'cat')
  running.write(Buffer.from('one '))
  running.write(Buffer.from('two'))
  running.endInput()
  t.match(await said(running), { stdout: 'one two', code: 0 })
  const deaf = await started(t, 'sleep 1000')
  let taken = 0
  while (taken < 100 && deaf.write(Buffer.alloc(64 * 1_024))) taken += 1
  t.ok(taken < 10, `${taken} parts were taken`)
  deaf.kill()
  await deaf.room(60_000)
})

t.test('output that nobody takes holds it up, and none is lost', async (t) => {
  const running = await started(t, 'echo $$ >&2; exec head -c 3000000 /dev/zero')
  let taken = 0
  let pid = ''
  while (!pid.endsWith('\n')) {
    const { value } = (await running.output.next()) as { value: ExecOutput }
    if (value.type === 'stderr') pid += Buffer.from(value.data).toString()
    else if (value.type === 'stdout') taken += value.data.length
  }
  const about = (file: string, pattern: RegExp) =>
    pattern.exec(readFileSync(`/proc/${pid.trim()}/${file}`, 'utf8'))?.[1] ?? ''
  /** It waits in a write, and wrote nothing since it was looked at before. */
  let written = -1
  let times = 0
  const isBlocked = () => {
    const [state, bytes] = [about('stat', /\) (.) /), Number(about('io', /^wchar: (\d+)$/m))]
    times = state === 'S' && bytes === written ? times + 1 : 0
    written = bytes
    return times >= 5
  }
  await eventuallyTrue('it is blocked', isBlocked, { timeoutMs: 10_000 })
  t.ok(written < 1_000_000, `${written} bytes are written`)
  t.equal(taken + (await said(running)).stdout.length, 3_000_000)
})

t.test('nothing of it is left when it ends, or when its reader goes', async (t) => {
  const script = 'setsid sleep 1000 & echo $!; sleep 1000 & echo $!; '
  const pidsOf = (text: string) => text.trim().split('\n').map(Number)
  const areGone = (pids: readonly number[]) =>
    pids.every((pid) => processState(pid)?.isZombie !== false)
  const { stdout } = await said(await started(t, `${script} exit 0`))
  t.equal(pidsOf(stdout).length, 2)
  await eventuallyTrue('what it left running is gone', () => areGone(pidsOf(stdout)))
  const running = await started(t, `${script} wait`)
  let text = ''
  while (pidsOf(text).length < 2 || !text.endsWith('\n')) {
    const { value } = (await running.output.next()) as { value: { data: Uint8Array } }
    text += Buffer.from(value.data).toString()
  }
  await running.output.return?.()
  await eventuallyTrue('all of it is gone', () => areGone(pidsOf(text)))
})

t.test('one whose reader goes ends, whoever holds its output', async (t) => {
  const clock = manualClock()
  // Without its mark, and not of its group: what is killed with it.
  const holder = `env -i setsid sh -c 'echo $$ >&2; head -c 3000000 /dev/zero; exec sleep 1000'`
  const running = await started(t, `${holder} & read line; exit 0`, { clock })
  let pid = ''
  while (!pid.endsWith('\n')) {
    const { value } = (await running.output.next()) as { value: ExecOutput }
    if (value.type === 'stderr') pid += Buffer.from(value.data).toString()
  }
  t.teardown(() => process.kill(Number(pid), 'SIGKILL'))
  running.write(Buffer.from('\n'))
  await eventuallyTrue('it has ended', () => clock.timerCount === 1)
  let isOver = false
  void running.ended.then(() => (isOver = true))
  await running.output.return?.()
  await eventuallyTrue('it is over', () => isOver)
  t.equal(clock.timerCount, 0)
  t.same(await running.output.next(), { done: true, value: undefined })
})

const hasScript = (() => {
  try {
    return readFileSync('/usr/bin/script').length > 0
  } catch {
    return false
  }
})()

t.test('it may have a terminal, of the size that it is told', { skip: !hasScript }, async (t) => {
  const resized = 'until [ "$(stty size)" = "33 99" ]; do sleep 0.05; done'
  const running = await started(t, `tty; read line; ${resized}; stty size; exit 3`, { tty: true })
  let text = ''
  const until = async (pattern: RegExp) => {
    while (!pattern.test(text)) {
      const { value, done } = await running.output.next()
      if (done === true || value.type === 'exited') throw new Error(`it said ${text}`)
      text += Buffer.from(value.data).toString()
    }
  }
  await until(/\/dev\/pts\/\d+\r\n/)
  running.resize({ rows: 33, columns: 99 })
  running.write(Buffer.from('go\n'))
  t.match(await said(running), { code: 3, stdout: /33 99\r\n/ })
})

t.test('a size that comes before its terminal is not lost', { skip: !hasScript }, async (t) => {
  const resized = 'until [ "$(stty size)" = "44 88" ]; do sleep 0.05; done'
  const running = await started(t, `${resized}; stty size`, { tty: true })
  running.resize({ rows: 11, columns: 22 })
  running.resize({ rows: 44, columns: 88 })
  t.match(await said(running), { code: 0, stdout: /44 88\r\n/ })
  const plain = await started(t, 'sleep 0.2')
  plain.resize({ rows: 11, columns: 22 })
  t.match(await said(plain), { code: 0 }, 'one without a terminal ends')
})
