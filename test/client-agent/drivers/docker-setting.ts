/** A driver of Docker with a stand-in for its daemon, and tasks for it. */
import { mkdir } from 'node:fs/promises'
import type { Test } from 'tap'
import { DockerDriver } from '../../../src/client-agent/drivers/docker/docker.ts'
import {
  capsDefault,
  type DockerSettings,
} from '../../../src/client-agent/drivers/docker/settings.ts'
import type { StartedTask, TaskToStart } from '../../../src/client-agent/drivers/driver.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { LogFields, Logger } from '../../../src/lib/log.ts'
import { DockerEngine } from '../../support/docker/engine.ts'
import { taskOf } from './task-of.ts'

export const nodeId = '5b1f0e2c-0000-4000-8000-000000000000'
export const allocation = '8f1c0e2c-0000-4000-8000-000000000000'
export const never = new AbortController().signal
export const nothing = (): void => {}

/** What is logged, as text. */
function loggerOf(lines: string[]): Logger {
  const note = (message: string, fields?: LogFields): void => {
    lines.push(`${message} ${JSON.stringify(fields ?? {})}`)
  }
  const logger: Logger = {
    trace: note,
    debug: note,
    info: note,
    warn: note,
    error: note,
    named: () => logger,
    listens: () => true,
  }
  return logger
}

export async function setting(t: Test, settings: Partial<DockerSettings> = {}) {
  const engine = await DockerEngine.start(t)
  const lines: string[] = []
  /** As after a restart of the agent. */
  const driverAgain = (): DockerDriver =>
    new DockerDriver({
      settings: {
        socketPath: engine.socketPath,
        allowPrivileged: false,
        allowVolumes: false,
        allowCaps: [...capsDefault],
        imageDelayMs: null,
        ...settings,
      },
      nodeId,
      mhz: () => 1_000,
      clock: systemClock,
      log: loggerOf(lines),
    })
  return { engine, lines, driver: driverAgain(), driverAgain }
}

export async function shellTask(
  t: Test,
  script: string,
  config: Readonly<Record<string, unknown>> = {},
  more: Partial<TaskToStart> = {},
): Promise<TaskToStart> {
  const words = { image: 'busybox:1', command: '/bin/sh', args: ['-c', script] }
  const task = await taskOf(t, { ...words, ...config }, { allocation, env: {}, ...more })
  for (const folder of [task.shared, task.local, task.secrets]) await mkdir(folder)
  return task
}

export async function begun(
  t: Test,
  driver: DockerDriver,
  task: TaskToStart,
): Promise<StartedTask> {
  const started = await driver.start(task, never, nothing)
  t.teardown(() => started.release())
  return started
}
