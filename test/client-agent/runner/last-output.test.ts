/** What a task writes right before it ends is kept within the limits of its log files. */
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import { leave, startedRunner, until } from './server-stand-in.ts'
import { pidOf, runs, setting, shell } from './tasks.ts'

const mib = 1024 * 1024
const write = (mibs: number) => `head -c ${mibs * mib} /dev/zero | tr '\\0' 'x'`

t.test('what a task wrote before its end is kept as far as its files have room', async (t) => {
  const { folder, servers } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  const limited = (script: string, MaxFiles: number) =>
    shell(script).map((task) => ({ ...task, LogConfig: { MaxFiles, MaxFileSizeMB: 1 } }))
  const one = servers.place(740_421, 'batch', limited(write(9), 1))
  const few = servers.place(740_422, 'batch', limited(write(9), 3))
  const small = servers.place(740_423, 'batch', limited(write(1.25), 1))
  const late = `echo $$; while [ ! -e go ]; do sleep 0.05; done; ${write(9)}`
  const away = servers.place(740_424, 'batch', limited(late, 2))
  for (const id of [one, few, small]) await servers.becomes(id, 'complete')
  const logsOf = (id: string) => join(workFolders(folder).allocations, id, 'alloc/logs')
  const sizesOf = async (id: string): Promise<number[]> => {
    const names = (await readdir(logsOf(id))).filter((name) => name.startsWith('main.stdout.'))
    return Promise.all(names.map(async (name) => (await stat(join(logsOf(id), name))).size / mib))
  }
  const becomes = async (id: string, sizes: readonly number[]): Promise<void> => {
    let found: readonly number[] = []
    await until(
      () => found.join() === sizes.join(),
      () => `the sizes in MiB: ${found.join()}`,
      async () => {
        found = await sizesOf(id)
      },
    )
  }
  await becomes(one, [1.5, 0])
  await becomes(few, [1, 1.5, 0])
  await becomes(small, [1.25])
  const pid = await pidOf(folder, away)
  await leave(first)
  await writeFile(join(workFolders(folder).allocations, away, 'main/go'), '')
  await until(
    () => !runs(pid),
    () => 'it ends alone',
  )
  await startedRunner(t, servers, { folder })
  await servers.becomes(away, 'complete')
  await becomes(away, [1.5, 0])
  t.pass('also of one that ended while the agent was away')
})
