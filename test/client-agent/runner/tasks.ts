/** Tasks for tests of a runner, and what the machine says of them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { processState } from '../../../src/client-agent/drivers/process-identity.ts'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import { dataFolder, ServersStandIn, until, type Tasks } from './server-stand-in.ts'

export function shell(script: string): Tasks {
  return [{ Name: 'main', Driver: 'raw_exec', Config: { command: 'sh', args: ['-c', script] } }]
}

export function mock(config: Record<string, unknown>): Tasks {
  return [{ Name: 'main', Driver: 'mock_driver', Config: config }]
}

export async function setting(t: Test) {
  const folder = await dataFolder(t)
  return { folder, servers: new ServersStandIn() }
}

/** The pid that a task printed. */
export async function pidOf(folder: string, id: string, task = 'main'): Promise<number> {
  const path = join(workFolders(folder).allocations, id, `alloc/logs/${task}.stdout.0`)
  let pid = 0
  await until(
    () => pid > 0,
    () => 'no pid was printed',
    async () => {
      const text = await readFile(path, 'utf8').catch(() => '')
      if (text.endsWith('\n')) pid = Number(text.trim().split('\n').at(-1))
    },
  )
  return pid
}

export function runs(pid: number): boolean {
  return processState(pid)?.isZombie === false
}
