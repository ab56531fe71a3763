/** Files of a task's output on a disk that has no room for copies: what is oldest goes, and nothing is left that fills it. */
import { readdirSync, statSync } from 'node:fs'
import { appendFile, mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import {
  currentLog,
  logFilesOf,
  rotateLog,
  type CopyWrites,
} from '../../../src/client-agent/runner/log-files.ts'
import { LogRotation } from '../../../src/client-agent/runner/log-rotation.ts'
import { AllocationFolder } from '../../../src/client-agent/runner/task-folders.ts'
import { withDefaults } from '../../../src/domains/jobs/defaults-model.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { writeAll, writeAllSync } from '../../../src/lib/write-all.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { dataFolder } from './server-stand-in.ts'

const kib = 1024

function used(folder: string): number {
  const sizes = new Map(
    readdirSync(folder).map((name) => {
      const { ino, size } = statSync(join(folder, name))
      return [ino, size]
    }),
  )
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}

/** The folder is all of a disk of so many bytes. */
function diskOf(folder: string, bytesMax: number): CopyWrites {
  const refuse = (bytes: Uint8Array) => {
    if (used(folder) + bytes.length <= bytesMax) return
    throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  }
  return {
    write: async (file, bytes) => {
      refuse(bytes)
      await writeAll(file, bytes)
    },
    writeSync: (fd, bytes) => {
      refuse(bytes)
      writeAllSync(fd, bytes)
    },
  }
}

/** Of numbered lines, so that each piece is known. */
function linesOf(bytes: number, from = 0): string {
  return Array.from({ length: bytes / 8 }, (_, at) => `${String(from + at).padStart(7)}\n`).join('')
}

async function textsOf(folder: string): Promise<readonly string[]> {
  const files = await logFilesOf(folder, 'main', 'stdout')
  t.equal((await readdir(folder)).length, files.length, 'no copy is left')
  return Promise.all(files.map(({ path }) => readFile(path, 'utf8')))
}

t.test('what filled the disk alone is cut to its end', async (t) => {
  const folder = await dataFolder(t)
  const text = linesOf(400 * kib)
  const path = await currentLog(folder, 'main', 'stdout')
  await writeFile(path, text)
  const held = await open(path, 'a')
  t.teardown(() => held.close())
  const limits = { filesMax: 1, bytesMax: 100 * kib }
  const rotated = await rotateLog(folder, 'main', 'stdout', limits, diskOf(folder, 400 * kib))
  t.match(rotated, { isNew: true, droppedBytes: 300 * kib, refusal: /ENOSPC/ })
  // `filesMax` 1: only the one that is written stays.
  t.strictSame(await textsOf(folder), [''])
  await held.write('next\n')
  t.strictSame(await textsOf(folder), ['next\n'], 'the task writes on to the one that is left')
})

t.test('older files go first, the oldest of them before the others', async (t) => {
  const folder = await dataFolder(t)
  for (const number of [3, 4, 5]) {
    await writeFile(join(folder, `main.stdout.${number}`), linesOf(64 * kib, number * 10_000))
  }
  const text = linesOf(128 * kib, 60_000)
  await writeFile(join(folder, 'main.stdout.6'), text)
  const limits = { filesMax: 9, bytesMax: 64 * kib }
  // There is room for one half of it.
  const disk = diskOf(folder, (3 * 64 + 128 + 64) * kib)
  const rotated = await rotateLog(folder, 'main', 'stdout', limits, disk)
  t.match(rotated, { isNew: true, droppedBytes: 64 * kib, refusal: /ENOSPC/ })
  const files = await logFilesOf(folder, 'main', 'stdout')
  t.strictSame(
    files.map(({ number }) => number),
    [4, 5, 6, 7, 8],
  )
  const texts = await textsOf(folder)
  t.equal(texts.slice(2).join(''), text)
})

t.test('what fits is kept of what was written at once', async (t) => {
  const folder = await dataFolder(t)
  const text = linesOf(1_024 * kib)
  await writeFile(join(folder, 'main.stdout.0'), text)
  await writeFile(join(folder, 'main.stdout.copy.7'), 'of an agent that was killed')
  const limits = { filesMax: 5, bytesMax: 128 * kib }
  const rotated = await rotateLog(
    folder,
    'main',
    'stdout',
    limits,
    diskOf(folder, (1_024 + 260) * kib),
  )
  const kept = (await textsOf(folder)).join('')
  t.ok(kept.length >= 128 * kib, `${kept.length} bytes are kept`)
  t.ok(text.endsWith(kept), 'the end of it, in order')
  t.match(rotated, { isNew: true, droppedBytes: text.length - kept.length, refusal: /ENOSPC/ })
})

t.test('a disk that takes nothing at all loses what was written, and is not filled', async (t) => {
  const folder = await dataFolder(t)
  await writeFile(join(folder, 'main.stdout.0'), linesOf(256 * kib))
  const limits = { filesMax: 5, bytesMax: 64 * kib }
  const rotated = await rotateLog(folder, 'main', 'stdout', limits, diskOf(folder, 0))
  t.match(rotated, { isNew: false, droppedBytes: 256 * kib, refusal: /ENOSPC/ })
  t.strictSame(await textsOf(folder), [''])
})

t.test('what cannot be kept small is told with its names, and not each time', async (t) => {
  const folder = new AllocationFolder(await dataFolder(t), 'one')
  await mkdir(folder.logs, { recursive: true })
  const task = { Name: 'main', Driver: 'x', LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 } }
  const draft = { ID: 'job', TaskGroups: [{ Name: 'group', Tasks: [task] }] }
  const tasks = withDefaults(draft, 'default').TaskGroups.flatMap(({ Tasks }) => Tasks)
  const clock = manualClock()
  const told: unknown[] = []
  const log = { ...silentLogger, warn: (_text: string, what: unknown) => void told.push(what) }
  const rotation = new LogRotation({ clock, log }, folder, tasks)
  t.teardown(() => rotation.stop())
  for (const kind of ['stdout', 'stderr']) {
    await appendFile(join(folder.logs, `main.${kind}.0`), Buffer.alloc(1_200 * kib))
  }
  // No file can be made there.
  await mkdir(join(folder.logs, 'main.stdout.copy.0'))
  rotation.start()
  const round = async (ms: number) => {
    await eventuallyTrue('it waits', async () => clock.timerCount === 1)
    clock.advance(ms)
  }
  await round(5_000)
  await eventuallyTrue('the other file is looked at', async () =>
    (await currentLog(folder.logs, 'main', 'stderr')).endsWith('.1'),
  )
  const names = { allocation: 'one', task: 'main', file: 'stdout' }
  await eventuallyTrue('it is told', async () => told.length === 1)
  t.match(told, [{ ...names, error: String }])
  for (let times = 0; times < 10; times += 1) await round(5_000)
  await eventuallyTrue('it waits', async () => clock.timerCount === 1)
  t.equal(told.length, 1)
  await round(300_000)
  await eventuallyTrue('it is told again', async () => told.length === 2)
  t.match(told[1], names)
})

void t.test('only copies are taken for copies', async (t) => {
  const folder = await dataFolder(t)
  const other = join(folder, 'main.stdout.copy.stdout.0')
  await writeFile(other, 'of a task named main.stdout.copy')
  await writeFile(join(folder, 'main.stdout.copy.0'), 'left by a killed agent')
  await writeFile(join(folder, 'main.stdout.0'), linesOf(64 * kib))
  await rotateLog(folder, 'main', 'stdout', { filesMax: 3, bytesMax: 64 * kib })
  t.same((await readdir(folder)).toSorted(), [
    'main.stdout.0',
    'main.stdout.1',
    'main.stdout.copy.stdout.0',
  ])
})
