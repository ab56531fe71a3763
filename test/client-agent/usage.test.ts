/** What tasks and their machine take, by /proc. */
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import t, { type Test } from 'tap'
import type { StartedTask } from '../../src/client-agent/drivers/driver.ts'
import { hostUsage } from '../../src/client-agent/usage/host-usage.ts'
import { parseUse, ProcessTables, treeOf } from '../../src/client-agent/usage/process-table.ts'
import { TaskUsages } from '../../src/client-agent/usage/task-usage.ts'
import { shownHost, shownUsages } from '../../src/domains/tasks/usage-shown.ts'
import { systemClock } from '../../src/lib/clock.ts'

const mib = 1_024 * 1_024

/** As a driver leads it: a group of its own. */
function startedOf(t: Test, script: string): { readonly pid: number; readonly task: StartedTask } {
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: 'ignore' })
  const { pid = 0 } = child
  t.teardown(() => process.kill(-pid, 'SIGKILL'))
  const handle = { type: 'process', pid, startTicks: '1', bootId: '' } as const
  const ended = new Promise<never>(() => {})
  const nothing = (): void => {}
  return { pid, task: { handle, ended, signal: nothing, kill: nothing, release: nothing } }
}

t.test('of a task counts all that it started', async (t) => {
  const { pid, task } = startedOf(t, 'sh -c "while :; do :; done" & sleep 1000')
  const usages = new TaskUsages(systemClock, new ProcessTables(systemClock), 2_000)
  const [used] = await usages.of([task])
  if (used === undefined) throw new Error('there is one')
  t.ok(used.pids.length >= 2, `${used.pids.length} processes`)
  t.ok(used.pids.some(([one]) => one === pid))
  t.ok(used.usage.percent > 1, `${used.usage.percent} per cent`)
  t.ok(used.usage.rssBytes > mib / 4 && used.usage.rssBytes < 1_024 * mib)
  const shown = shownUsages([['main', used]])
  t.match(shown.Tasks['main']?.ResourceUsage, {
    CpuStats: { TotalTicks: Number },
    MemoryStats: { RSS: used.usage.rssBytes },
  })
  t.equal(shown.Timestamp, shown.Tasks['main']?.Timestamp)
})

t.test('what has no process takes nothing', async (t) => {
  const usages = new TaskUsages(systemClock, new ProcessTables(systemClock), 2_000)
  const { task } = startedOf(t, 'exec sleep 1000')
  const [used] = await usages.of([{ ...task, handle: { type: 'mock', startedMs: 0 } }])
  t.match(used, { usage: { percent: 0, rssBytes: 0 }, pids: [] })
})

t.test('a process may be called anything', (t) => {
  const text = '7 (a) 9 ) (b) S 3 4 4 0 -1 4194560 1 2 3 4 50 60 1 2 20 0 1 0 99 1 1\n'
  const known = { pid: 7, parent: 3, group: 4, userMs: 500, systemMs: 600 }
  t.same(parseUse(text), known)
  t.equal(parseUse(''), null)
  const child = { ...known, pid: 8, parent: 7, group: 8 }
  const table = { atMs: 0, processes: [child, known, { ...known, pid: 9, parent: 1, group: 1 }] }
  t.same(
    treeOf(table, 4).map(({ pid }) => pid),
    [7, 8],
    'of the group, and of what left it',
  )
  t.end()
})

t.test('of the machine', async (t) => {
  const shown = shownHost(await hostUsage(tmpdir(), 2_000, systemClock))
  t.ok(shown.CPU.length > 0 && shown.CPU.every(({ Idle, Total }) => Idle + Total <= 100.1))
  t.ok(shown.Memory.Total > shown.Memory.Used && shown.Memory.Used > 0)
  t.ok(shown.AllocDirStats.Size > shown.AllocDirStats.Used)
})
