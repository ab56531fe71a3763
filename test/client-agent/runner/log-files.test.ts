/** Files of a task's output: a full one gets a number, and the task writes on. */
import { appendFile, mkdir, open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { currentLog, logFilesOf, rotateLog } from '../../../src/client-agent/runner/log-files.ts'
import { LogRotation } from '../../../src/client-agent/runner/log-rotation.ts'
import { AllocationFolder } from '../../../src/client-agent/runner/task-folders.ts'
import { withDefaults } from '../../../src/domains/jobs/defaults-model.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { dataFolder } from './server-stand-in.ts'

const limits = { filesMax: 3, bytesMax: 10 }

t.test('a full file gets the next number and is emptied, for one who holds it open', async (t) => {
  const folder = await dataFolder(t)
  const path = await currentLog(folder, 'main', 'stdout')
  t.equal(path, join(folder, 'main.stdout.0'))
  const held = await open(path, 'a')
  t.teardown(() => held.close())
  await held.write('short\n')
  const small = { bytes: 6, isNew: false, droppedBytes: 0, refusal: null }
  t.strictSame(await rotateLog(folder, 'main', 'stdout', limits), small, 'it is not full')
  await held.write('long\n')
  const full = { bytes: 0, isNew: true, droppedBytes: 0, refusal: null }
  t.strictSame(await rotateLog(folder, 'main', 'stdout', limits), full)
  await held.write('next\n')
  t.equal(await readFile(join(folder, 'main.stdout.0'), 'utf8'), 'short\nlong\n')
  t.equal(await readFile(join(folder, 'main.stdout.1'), 'utf8'), 'next\n')
  t.equal(await currentLog(folder, 'main', 'stdout'), join(folder, 'main.stdout.1'))
})

t.test('as many files are kept as are to be, and others are left alone', async (t) => {
  const folder = await dataFolder(t)
  await appendFile(join(folder, 'main.stdout.more'), 'x')
  await appendFile(join(folder, 'main.stderr.0'), 'x')
  for (let round = 0; round < 5; round += 1) {
    await appendFile(await currentLog(folder, 'main', 'stdout'), `round ${round}, ten`)
    await rotateLog(folder, 'main', 'stdout', limits)
  }
  const numbers = (await logFilesOf(folder, 'main', 'stdout')).map(({ number }) => number)
  t.strictSame(numbers, [3, 4, 5])
  t.strictSame(
    (await readdir(folder)).filter((name) => !name.startsWith('main.stdout.')),
    ['main.stderr.0'],
  )
  t.ok((await readdir(folder)).includes('main.stdout.more'))
})

t.test('what is written while a file is turned over is in one of the files', async (t) => {
  const folder = await dataFolder(t)
  const path = await currentLog(folder, 'main', 'stdout')
  const held = await open(path, 'a')
  t.teardown(() => held.close())
  let count = 0
  for (let round = 0; round < 20; round += 1) {
    const isTurned = rotateLog(folder, 'main', 'stdout', { filesMax: 1_000, bytesMax: 1_000 })
    for (let line = 0; line < 200; line += 1) {
      await held.write(`${count}\n`)
      count += 1
    }
    await isTurned
  }
  const files = await logFilesOf(folder, 'main', 'stdout')
  t.ok(files.length > 5)
  const texts = await Promise.all(files.map(({ path }) => readFile(path, 'utf8')))
  const numbers = texts.join('').trim().split('\n').map(Number)
  t.ok(numbers.length > count - 20, `${numbers.length} of ${count} lines are there`)
  t.strictSame(
    numbers,
    numbers.toSorted((left, right) => left - right),
    'in order',
  )
})

t.test('what was written at once is split over as many files as there may be', async (t) => {
  const texts = async (written: number) => {
    const folder = await dataFolder(t)
    const text = Array.from({ length: written }, (_, at) => String(at % 10)).join('')
    await appendFile(await currentLog(folder, 'main', 'stdout'), text)
    const rotated = await rotateLog(folder, 'main', 'stdout', { filesMax: 5, bytesMax: 10 })
    const files = await logFilesOf(folder, 'main', 'stdout')
    const read = await Promise.all(files.map(({ path }) => readFile(path, 'utf8')))
    t.ok(text.endsWith(read.join('')), 'in order')
    t.equal((await readdir(folder)).length, files.length, 'nothing else is left')
    return { sizes: read.map((one) => one.length), dropped: rotated.droppedBytes }
  }
  t.strictSame(await texts(13), { sizes: [13, 0], dropped: 0 }, 'a small rest gets no file')
  t.strictSame(await texts(36), { sizes: [10, 10, 10, 6, 0], dropped: 0 })
  t.strictSame(await texts(45), { sizes: [10, 10, 10, 15, 0], dropped: 0 })
  t.strictSame(await texts(99), { sizes: [10, 10, 10, 15, 0], dropped: 54 })
})

t.test(
  'while much is written the files are looked at often, and what is lost is told',
  async (t) => {
    const folder = new AllocationFolder(await dataFolder(t), 'one')
    await mkdir(folder.logs, { recursive: true })
    const [task] = withDefaults(
      {
        ID: 'job',
        TaskGroups: [
          {
            Name: 'group',
            Tasks: [{ Name: 'main', Driver: 'x', LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 } }],
          },
        ],
      },
      'default',
    ).TaskGroups.flatMap(({ Tasks }) => Tasks)
    if (task === undefined) throw new Error('there is a task')
    const clock = manualClock()
    const told: unknown[] = []
    const log = { ...silentLogger, warn: (_text: string, what: unknown) => void told.push(what) }
    const rotation = new LogRotation({ clock, log }, folder, [task])
    t.teardown(() => rotation.stop())
    const write = async (mib: number) =>
      appendFile(await currentLog(folder.logs, 'main', 'stdout'), Buffer.alloc(mib * 1024 * 1024))
    rotation.start()
    const rounds = async (ms: number, name: string) => {
      await eventuallyTrue('it waits', async () => clock.timerCount === 1)
      clock.advance(ms)
      await eventuallyTrue(name, async () =>
        (await currentLog(folder.logs, 'main', 'stdout')).endsWith(name),
      )
    }
    await write(1)
    await rounds(5_000, 'stdout.1')
    await write(4)
    await rounds(500, 'stdout.2')
    await eventuallyTrue('what is lost is told', async () => told.length > 0)
    t.match(told, [{ allocation: 'one', task: 'main', file: 'stdout', bytes: 2.5 * 1024 * 1024 }])
  },
)
