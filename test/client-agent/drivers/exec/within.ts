/** Tasks of the driver `exec` for tests: with folders as the runner makes them, and what they print. Only root has them. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { AllocationFolder } from '../../../../src/client-agent/runner/task-folders.ts'
import type { StartedTask, TaskToStart } from '../../../../src/client-agent/drivers/driver.ts'
import { ExecDriver } from '../../../../src/client-agent/drivers/exec/exec-driver.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { eventually } from '../../../support/eventually.ts'
import { taskOf } from '../task-of.ts'

/** Where nothing can be run, a test says so and is over. */
export async function driverFor(t: Test, root?: string): Promise<ExecDriver | null> {
  const more = root === undefined ? {} : { root }
  const driver = await ExecDriver.open({ parent: 'muster.slice', clock: systemClock, ...more })
  if (driver.health.healthy) return driver
  t.match(driver.health.description, /^exec needs /)
  t.comment(`NOTHING IS RUN: ${driver.health.description}`)
  return null
}

/** A task of an allocation, as it is set up. */
export async function execTask(
  t: Test,
  driver: ExecDriver,
  script: string,
  more: Partial<TaskToStart> = {},
): Promise<TaskToStart> {
  const root = await mkdtemp(join(tmpdir(), 'muster-exec-'))
  t.teardown(() => rm(root, { recursive: true, force: true }))
  const folders = new AllocationFolder(root, 'allocation').of('main')
  await new AllocationFolder(root, 'allocation').make(folders)
  await driver.prepare(folders, more.user ?? '')
  const config = { command: 'sh', args: ['-c', script] }
  const { env } = await taskOf(t, {})
  return taskOf(t, config, {
    allocation: root,
    env: { ...env, MUSTER_ALLOC_ID: root },
    folder: folders.task,
    shared: folders.shared,
    local: folders.local,
    secrets: folders.secrets,
    runFolder: folders.run,
    stdout: join(folders.logs, 'main.stdout.0'),
    stderr: join(folders.logs, 'main.stderr.0'),
    ...more,
  })
}

/** It ends with the test. */
export async function started(
  t: Test,
  driver: ExecDriver,
  task: TaskToStart,
): Promise<StartedTask> {
  const running = await driver.start(task, new AbortController().signal)
  t.teardown(async () => {
    running.kill()
    await running.ended
  })
  return running
}

/** What a task prints that ends by itself. */
export async function printedBy(
  t: Test,
  driver: ExecDriver,
  script: string,
  more: Partial<TaskToStart> = {},
): Promise<string> {
  const task = await execTask(t, driver, script, more)
  await (
    await started(t, driver, task)
  ).ended
  return readFile(task.stdout, 'utf8')
}

/** Once there are so many whole lines. */
export function lines({ stdout }: TaskToStart, count: number): Promise<readonly string[]> {
  return eventually(`${count} lines are printed`, async () => {
    const text = await readFile(stdout, 'utf8').catch(() => '')
    const whole = text.split('\n').slice(0, -1)
    return whole.length >= count ? whole : undefined
  })
}
