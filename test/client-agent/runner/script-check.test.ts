/** A command that does not end when it is killed keeps its check from a second run, and nothing else. */
import t from 'tap'
import type { ExecOutput, RunningCommand } from '../../../src/client-agent/drivers/exec-process.ts'
import { ScriptCheck } from '../../../src/client-agent/runner/script-check.ts'
import { manualClock } from '../../support/manual-clock.ts'

/** Ends when the test says so. */
function command() {
  const { promise, resolve } = Promise.withResolvers<void>()
  let kills = 0
  async function* output(): AsyncGenerator<ExecOutput, undefined> {
    yield { type: 'stdout', data: Buffer.from('begun') }
    await promise
    yield { type: 'exited', code: 0 }
  }
  const running: RunningCommand = {
    output: output(),
    ended: promise,
    write: () => true,
    room: () => Promise.resolve(),
    endInput() {},
    resize() {},
    kill: () => (kills += 1),
  }
  return { running, end: resolve, kills: () => kills }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

t.test('what a kill does not end is told, and waited for by the next run', async (t) => {
  const clock = manualClock()
  const check = new ScriptCheck(clock)
  const timeout = new AbortController()
  const stuck = command()
  const first = check.run(async () => stuck.running, timeout.signal)
  await turn()
  timeout.abort()
  await turn()
  t.equal(stuck.kills(), 1)
  clock.advance(5_000)
  t.strictSame(await first, { status: 'critical', output: 'Timed out and was killed\nbegun' })
  t.equal(clock.timerCount, 0)

  let starts = 0
  const next = command()
  next.end()
  const start = async () => {
    starts += 1
    return next.running
  }
  const { signal } = new AbortController()
  t.match(await check.run(start, signal), { status: 'critical', output: /not ended yet/ })
  t.equal(starts, 0)
  stuck.end()
  await turn()
  t.strictSame(await check.run(start, signal), { status: 'passing', output: 'begun' })
  t.equal(starts, 1)
})

t.test('what starts after its time was up is killed', async (t) => {
  const check = new ScriptCheck(manualClock())
  const late = command()
  late.end()
  const found = await check.run(async () => late.running, AbortSignal.abort())
  t.match(found, { status: 'critical', output: /Timed out/ })
  t.equal(late.kills(), 1)
})

t.test('a start that fails is critical, and no run', async (t) => {
  const check = new ScriptCheck(manualClock())
  const { signal } = new AbortController()
  for (const _ of [1, 2]) {
    const found = await check.run(() => Promise.reject(new Error('no such program')), signal)
    t.strictSame(found, { status: 'critical', output: 'no such program' })
  }
})
