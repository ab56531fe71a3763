/** An agent that has no descriptor left for a while: what it cannot see then is not taken for gone, and is ended later all the same. */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import t, { type Test } from 'tap'
import {
  knownState,
  lookedAt,
  processesWith,
} from '../../../src/client-agent/drivers/process-identity.ts'
import { RawExecDriver } from '../../../src/client-agent/drivers/raw-exec.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { taskOf } from './task-of.ts'

// Few enough to open them all.
// Of util-linux.
const prlimit = '/usr/bin/prlimit'
execFileSync(prlimit, ['--pid', String(process.pid), '--nofile=200:'])
const driver = new RawExecDriver(systemClock)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** What happens while there is no descriptor. */
async function withoutDescriptors(act: () => unknown): Promise<void> {
  const opened: number[] = []
  try {
    for (;;) opened.push(openSync('/dev/null', 'r'))
  } catch (error) {
    t.match(error, { code: 'EMFILE' })
  }
  try {
    await act()
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}

async function running(t: Test, script = 'exec sleep 1000') {
  const task = await taskOf(t, { command: '/bin/sh', args: ['-c', `echo $$; ${script}`] })
  const own = await driver.start(task)
  t.teardown(() => own.kill())
  const { handle } = own
  if (handle.type !== 'process') throw new Error('a process')
  const mark = `MUSTER_ALLOC_ID=${task.allocation}`
  await eventuallyTrue('it runs', async () => (await processesWith([mark])).length > 1)
  return { task, own, handle, mark, isThere: () => knownState(handle.pid)?.isZombie === false }
}

t.test('a task that is found again is not given up, nor killed', async (t) => {
  const { task, handle, isThere } = await running(t)
  let isOver = false
  await withoutDescriptors(async () => {
    t.throws(() => knownState(handle.pid), { code: 'EMFILE' })
    const found = driver.recover(task, handle)
    void found.ended.then(() => {
      isOver = true
    })
    await pause(1_200)
  })
  await pause(700)
  t.notOk(isOver)
  t.ok(isThere())
})

t.test('what bears marks, and a start without a handle, is found once it can be', async (t) => {
  const { task, handle, mark } = await running(t)
  let marked: Promise<readonly number[]> = Promise.resolve([])
  let finding: ReturnType<typeof driver.find> = Promise.resolve(null)
  await withoutDescriptors(async () => {
    marked = processesWith([mark])
    finding = driver.find(task)
    await pause(300)
  })
  t.ok((await marked).includes(handle.pid))
  const found = await finding
  t.match(found?.handle, handle)
  found?.release()
})

t.test('a signal and a kill come later', async (t) => {
  const first = await running(t)
  const asked = driver.recover(first.task, first.handle)
  await withoutDescriptors(async () => {
    asked.signal('SIGTERM')
    await pause(100)
  })
  t.strictSame(await asked.ended, { type: 'known', code: 143, signal: 15, message: '' })
  const second = await running(t, 'trap "" INT TERM; while :; do sleep 1; done')
  const killed = driver.recover(second.task, second.handle)
  await withoutDescriptors(async () => {
    killed.kill()
    await pause(100)
    t.ok(process.kill(second.handle.pid, 0), 'it could not be seen')
  })
  t.strictSame(await killed.ended, { type: 'known', code: 137, signal: 9, message: '' })
  t.notOk(second.isThere())
})

t.test('a child is killed at once', async (t) => {
  const { own } = await running(t)
  await withoutDescriptors(async () => {
    own.kill()
    t.match(await own.ended, { code: 137 })
  })
})

t.test('a start says that it may succeed later', async (t) => {
  const task = await taskOf(t, { command: '/bin/sh', args: ['-c', 'exit 0'] })
  await withoutDescriptors(() => t.rejects(driver.start(task), { code: 'unavailable' }))
  t.match(await (await driver.start(task)).ended, { code: 0 })
})

t.test('a look that is wrong in itself is not repeated', async (t) => {
  const look = () => {
    throw new Error('a defect')
  }
  await t.rejects(lookedAt(systemClock, look), { message: 'a defect' })
})
