/** The driver that runs nothing does what its configuration says. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { MockDriver } from '../../../src/client-agent/drivers/mock-driver.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { taskOf } from './task-of.ts'

const never = new AbortController().signal
const driver = new MockDriver(systemClock)

t.test('a mock task runs for its time and ends as it is to', async (t) => {
  const task = await taskOf(t, { run_for: '10ms', exit_code: 3, stdout_string: 'hello' })
  const running = await driver.start(task, never)
  t.strictSame(await running.ended, { type: 'known', code: 3, signal: 0, message: '' })
  t.equal(await readFile(task.stdout, 'utf8'), 'hello')
  const killed = await driver.start(await taskOf(t, { exit_signal: 9, exit_err_msg: 'oh' }), never)
  t.strictSame(await killed.ended, { type: 'known', code: 137, signal: 9, message: 'oh' })
})

t.test('a mock task ends when it is asked, and when it is killed', async (t) => {
  const asked = await driver.start(await taskOf(t, { run_for: '1h' }), never)
  asked.signal('SIGHUP')
  asked.signal('SIGINT')
  t.strictSame(await asked.ended, { type: 'known', code: 0, signal: 0, message: '' })
  const killed = await driver.start(await taskOf(t, { run_for: '1h', kill_after: '1h' }), never)
  killed.signal('SIGINT')
  killed.kill()
  t.strictSame(await killed.ended, { type: 'known', code: 137, signal: 9, message: '' })
})

t.test('another process of the agent finds a mock task where its time is', async (t) => {
  const task = await taskOf(t, { run_for: '1h', exit_code: 4 })
  const running = await driver.start(task, never)
  running.release()
  const long = { type: 'mock', startedMs: systemClock.wallMs() - 3_600_000 } as const
  t.match(await driver.recover(task, long).ended, { code: 4 })
  const short = await taskOf(t, { run_for: '10ms', exit_code: 5 })
  const later = { type: 'mock', startedMs: systemClock.wallMs() + 3_600_000 } as const
  t.match(await driver.recover(short, later).ended, { code: 5 }, 'the clock was set back')
})

t.test('a start is refused as it is to be, and a member that is not known is named', async (t) => {
  const refused = { start_error: 'no', start_error_recoverable: true }
  await t.rejects(driver.start(await taskOf(t, refused), never), { code: 'unavailable' })
  await t.rejects(driver.start(await taskOf(t, { start_error: 'no' }), never), {
    code: 'invalid_argument',
    message: 'no',
  })
  await t.rejects(driver.start(await taskOf(t, { run_four: '1s' }), never), {
    message: /mock_driver knows no run_four/,
  })
  const stopping = new AbortController()
  const blocked = driver.start(await taskOf(t, { start_block_for: '1h' }), stopping.signal)
  stopping.abort()
  await t.rejects(blocked, { code: 'cancelled' })
})
