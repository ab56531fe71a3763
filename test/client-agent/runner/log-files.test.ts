/** Files of a task's output: a full one gets a number, and the task writes on. */
import { appendFile, open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { currentLog, logFilesOf, rotateLog } from '../../../src/client-agent/runner/log-files.ts'
import { dataFolder } from './server-stand-in.ts'

const limits = { filesMax: 3, bytesMax: 10 }

t.test('a full file gets the next number and is emptied, for one who holds it open', async (t) => {
  const folder = await dataFolder(t)
  const path = await currentLog(folder, 'main', 'stdout')
  t.equal(path, join(folder, 'main.stdout.0'))
  const held = await open(path, 'a')
  t.teardown(() => held.close())
  await held.write('short\n')
  t.equal(await rotateLog(folder, 'main', 'stdout', limits), 6, 'it is not full')
  await held.write('long\n')
  t.equal(await rotateLog(folder, 'main', 'stdout', limits), 0)
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
