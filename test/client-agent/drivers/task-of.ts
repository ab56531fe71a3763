/** A task as the runner gives it to a driver, with folders of its own that go with the test. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { TaskToStart } from '../../../src/client-agent/drivers/driver.ts'

export async function taskOf(
  t: Test,
  config: TaskToStart['config'],
  more: Partial<TaskToStart> = {},
): Promise<TaskToStart> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-task-'))
  // What was let go of may write a last time.
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  const runFolder = join(folder, 'run')
  await mkdir(runFolder)
  return {
    allocation: folder,
    task: 'main',
    config,
    user: '',
    env: {
      PATH: '/usr/bin:/bin',
      MUSTER_ALLOC_ID: folder,
      MUSTER_TASK_NAME: 'main',
      GREETING: 'hi',
    },
    folder,
    shared: join(folder, 'alloc'),
    local: join(folder, 'local'),
    secrets: join(folder, 'secrets'),
    mounts: [],
    resources: { cpuMhz: 100, memoryMb: 100, memoryMaxMb: 100 },
    ports: [],
    stdout: join(folder, 'out'),
    stderr: join(folder, 'err'),
    runFolder,
    ...more,
  }
}
