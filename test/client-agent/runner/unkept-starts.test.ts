/** An agent whose disk does not take that a task is started: the task waits, for the next process of the agent would start it again. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import { StateStore, type KeptAllocation } from '../../../src/client-agent/runner/state-store.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { startedRunner } from './server-stand-in.ts'
import { setting, shell } from './tasks.ts'

class StoreOnDisk extends StateStore {
  isFull = false

  override async save(kept: KeptAllocation): Promise<void> {
    if (this.isFull) throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' })
    await super.save(kept)
  }
}

t.test('a task starts once the disk knows that it does', async (t) => {
  const { folder, servers } = await setting(t)
  const store = new StoreOnDisk(workFolders(folder).state, silentLogger)
  await startedRunner(t, servers, { folder, store })
  store.isFull = true
  const script = 'echo began >>../alloc/began; exec sleep 1000'
  const ns = 1_000_000_000
  const id = servers.place(7_301, 'service', shell(script), {
    RestartPolicy: { Attempts: 1_000, Interval: 3_600 * ns, Delay: ns, Mode: 'delay' },
  })
  const isRefused = ({ type }: { type: string }) => type === 'Driver Failure'
  const { tasks } = await servers.reported(id, (report) =>
    (report.tasks[0]?.events ?? []).some(isRefused),
  )
  t.match(tasks[0]?.events.find(isRefused)?.displayMessage, /disk of the agent takes no writes/)
  t.match(tasks[0]?.events.at(-1), { type: 'Restarting' }, 'it is tried again')
  store.isFull = false
  await servers.becomes(id, 'running')
  const began = join(workFolders(folder).allocations, id, 'alloc/began')
  let text = ''
  while (text === '') text = await readFile(began, 'utf8').catch(() => '')
  t.equal(text, 'began\n')
})
