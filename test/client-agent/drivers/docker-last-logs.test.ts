/** The output that is left when a container has ended: what flows is waited for, and what is lost is told. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Engine } from '../../../src/client-agent/drivers/docker/engine.ts'
import { copyLastLogs } from '../../../src/client-agent/drivers/docker/last-logs.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { begun, never, nothing, setting, shellTask } from './docker-setting.ts'

/** A container that has ended, and of whose output nothing is copied. */
async function ended(t: Test, script: string) {
  const { engine, driver } = await setting(t)
  const task = await shellTask(t, script)
  ;(await driver.start(task, never, nothing)).release()
  const { container } = engine
  await eventuallyTrue('it ended', () => Promise.resolve(container.status === 'exited'))
  const { stdout, stderr, runFolder } = task
  const logs = {
    engine: new Engine(engine.socketPath, systemClock),
    id: container.id,
    stdout,
    stderr,
    cursor: join(runFolder, 'last'),
  }
  const last = (ms: { silence: number; whole: number }, signal: AbortSignal = never) =>
    copyLastLogs(logs, { tty: false, clock: systemClock, signal, ms })
  return { engine, stdout, last }
}

t.test('output that flows is waited for, however long it takes', async (t) => {
  const { engine, stdout, last } = await ended(
    t,
    'sleep 0.3; for i in 1 2 3 4 5 6; do echo $i; done',
  )
  engine.pace = () => pause(250)
  t.equal(await last({ silence: 1_000, whole: 60_000 }), null)
  t.equal((await readFile(stdout, 'utf8')).slice(-12), '1\n2\n3\n4\n5\n6\n')
})

t.test('output that does not end in time is lost, with the reason', async (t) => {
  const { engine, last } = await ended(t, 'echo one; echo two')
  engine.pace = () => new Promise(() => {})
  t.equal(await last({ silence: 50, whole: 60_000 }), 'Docker sent nothing more of it for 50ms')
  t.equal(await last({ silence: 60_000, whole: 50 }), 'it was not copied within 50ms')
  const released = AbortSignal.timeout(50)
  t.equal(await last({ silence: 60_000, whole: 60_000 }, released), null, 'another agent goes on')
})

t.test('how a task ended has what is lost of its output', async (t) => {
  const { engine, driver } = await setting(t)
  engine.pace = () => Promise.reject(new Error('broken'))
  const running = await begun(t, driver, await shellTask(t, 'echo one; exit 3'))
  t.match(await running.ended, { code: 3, outputLost: /^The end of the output may be lost: ./ })
})

t.test('an agent that goes meanwhile leaves the container to the next one', async (t) => {
  const { engine, driver, driverAgain } = await setting(t)
  const asked = Promise.withResolvers<void>()
  engine.pace = () => {
    asked.resolve()
    return new Promise(() => {})
  }
  const task = await shellTask(t, 'echo one; exit 3')
  const running = await begun(t, driver, task)
  await asked.promise
  running.release()
  engine.pace = null
  t.match(await driverAgain().recover(task, running.handle).ended, { type: 'known', code: 3 })
  t.equal(await readFile(task.stdout, 'utf8'), 'one\n')
})
