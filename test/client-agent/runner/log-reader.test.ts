/** A task's output read over its files, from anywhere, and followed. */
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { currentLog, rotateLog } from '../../../src/client-agent/runner/log-files.ts'
import { readLogs } from '../../../src/client-agent/runner/log-reader.ts'
import type { LogsOf } from '../../../src/domains/tasks/services.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { dataFolder } from './server-stand-in.ts'

const never = new AbortController().signal
const of: LogsOf = {
  allocation: 'a',
  task: 'main',
  kind: 'stdout',
  offset: 0,
  origin: 'start',
  follow: false,
}

async function written(t: Test): Promise<string> {
  const folder = await dataFolder(t)
  await writeFile(join(folder, 'main.stdout.3'), 'one ')
  await writeFile(join(folder, 'main.stdout.4'), 'two ')
  await writeFile(join(folder, 'main.stdout.5'), 'three')
  return folder
}

async function text(folder: string, more: Partial<LogsOf>): Promise<string> {
  let all = ''
  for await (const { data } of readLogs(folder, { ...of, ...more }, systemClock, never)) {
    all += Buffer.from(data).toString()
  }
  return all
}

t.test('offsets count over all files', async (t) => {
  const folder = await written(t)
  t.equal(await text(folder, {}), 'one two three')
  t.equal(await text(folder, { offset: 5 }), 'wo three')
  t.equal(await text(folder, { offset: 99 }), '')
  t.equal(await text(folder, { origin: 'end', offset: 7 }), 'o three')
  t.equal(await text(folder, { origin: 'end', offset: 99 }), 'one two three')
  await t.rejects(text(folder, { kind: 'stderr' }), { code: 'not_found' })
})

t.test('a reader goes on over a file that is turned over, until it leaves', async (t) => {
  const folder = await written(t)
  const stopping = new AbortController()
  const chunks = readLogs(folder, { ...of, follow: true }, systemClock, stopping.signal)
  let all = ''
  const until = async (end: string): Promise<void> => {
    while (!all.endsWith(end)) {
      const { value } = await chunks.next()
      if (value === undefined) throw new Error('it ended')
      all += Buffer.from(value.data).toString()
    }
  }
  await until('three')
  await appendFile(join(folder, 'main.stdout.5'), ' four')
  await until('four')
  await rotateLog(folder, 'main', 'stdout', { filesMax: 10, bytesMax: 10 })
  await appendFile(join(folder, 'main.stdout.6'), ' five')
  await until('five')
  t.equal(all, 'one two three four five')
  await appendFile(join(folder, 'main.stdout.6'), ' six')
  await until('six')
  await appendFile(join(folder, 'main.stdout.6'), ' seven')
  await rotateLog(folder, 'main', 'stdout', { filesMax: 10, bytesMax: 4 })
  t.equal(await currentLog(folder, 'main', 'stdout'), join(folder, 'main.stdout.10'))
  await appendFile(join(folder, 'main.stdout.10'), ' eight')
  await until('eight')
  t.equal(all, 'one two three four five six seven eight', 'also over one that is split')
  stopping.abort()
  t.equal((await chunks.next()).done, true)
})
