/** A file of lines that is rotated by size, moved by others, cut off by crashes. */
import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  stat,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { RotatedFile } from '../../src/lib/rotated-file.ts'

function place(t: Test, bytesMax = 100, filesMax = 2) {
  const folder = join(t.testdir(), 'deep', 'folder')
  const path = join(folder, 'audit.log')
  let nowMs = Date.UTC(2026, 0, 31, 12)
  const wallMs = (): number => nowMs
  return {
    folder,
    path,
    open: () => RotatedFile.open({ path, bytesMax, filesMax }, wallMs),
    wait: () => void (nowMs += 1_500),
    read: () => readFile(path, 'utf8'),
    earlier: async () => (await readdir(folder)).filter((name) => name !== 'audit.log').sort(),
  }
}

t.test('it makes its folder, is for its owner alone, and goes on where it was', async (t) => {
  const at = place(t)
  const file = await at.open()
  await file.append('one\n')
  await file.append('two\nthree\n')
  await file.close()
  await chmod(at.path, 0o644)
  const again = await at.open()
  await again.append('four\n')
  await again.close()
  t.equal(await at.read(), 'one\ntwo\nthree\nfour\n')
  t.equal((await stat(at.path)).mode & 0o777, 0o600)
  t.equal((await stat(at.folder)).mode & 0o777, 0o700)
})

t.test('a line that a crash cut off is ended before the next', async (t) => {
  const at = place(t)
  await mkdir(at.folder, { recursive: true })
  await writeFile(at.path, 'whole\nhal')
  const file = await at.open()
  await file.append('next\n')
  await file.close()
  t.equal(await at.read(), 'whole\nhal\nnext\n')
})

t.test('a file that is long enough is followed by a new one, and the oldest goes', async (t) => {
  const at = place(t, 10, 2)
  const file = await at.open()
  for (const text of ['1234567890\n', 'second 123\n', 'third 1234\n', 'fourth 123\n', 'fifth\n']) {
    await file.append(text)
    if (!text.startsWith('second')) at.wait()
  }
  await file.close()
  const earlier = await at.earlier()
  t.same(earlier, ['audit.log.20260131T120003000Z', 'audit.log.20260131T120004500Z'])
  const texts = await Promise.all(earlier.map((name) => readFile(join(at.folder, name), 'utf8')))
  t.same(texts, ['third 1234\n', 'fourth 123\n'])
  t.equal(await at.read(), 'fifth\n')
  for (const name of earlier) t.equal((await stat(join(at.folder, name))).mode & 0o777, 0o600)
})

t.test('rotations of one millisecond have names of their own, and age by them', async (t) => {
  const at = place(t, 1, 12)
  const file = await at.open()
  for (let count = 0; count < 15; count += 1) await file.append(`${count}\n`)
  await file.close()
  const earlier = await at.earlier()
  t.equal(earlier.length, 12)
  const texts = await Promise.all(earlier.map((name) => readFile(join(at.folder, name), 'utf8')))
  const numbers = texts.map(Number).sort((left, right) => left - right)
  t.same(numbers, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
})

t.test('what others put beside it is theirs', async (t) => {
  const at = place(t, 1, 1)
  await mkdir(at.folder, { recursive: true })
  for (const name of ['audit.log.1', 'audit.log.gz', 'other']) {
    await writeFile(join(at.folder, name), 'x')
  }
  const file = await at.open()
  for (const text of ['a\n', 'b\n', 'c\n', 'd\n']) {
    await file.append(text)
    at.wait()
  }
  await file.close()
  const left = await at.earlier()
  t.equal(left.length, 4)
  for (const name of ['audit.log.1', 'audit.log.gz', 'other']) t.ok(left.includes(name))
})

t.test('whoever moves the file away gets it whole once it is opened anew', async (t) => {
  const at = place(t)
  const file = await at.open()
  await file.append('before\n')
  const moved = join(at.folder, 'moved')
  await rename(at.path, moved)
  await file.append('between\n')
  await file.reopen()
  await file.append('after\n')
  await file.close()
  t.equal(await readFile(moved, 'utf8'), 'before\nbetween\n')
  t.equal(await at.read(), 'after\n')
})

t.test('a file that was moved away does not stop the rotation', async (t) => {
  const at = place(t, 5)
  const file = await at.open()
  await file.append('before\n')
  await rename(at.path, join(at.folder, 'moved'))
  await file.append('after\n')
  await file.close()
  t.equal(await at.read(), 'after\n')
})

t.test('its length counts what was there before', async (t) => {
  const at = place(t, 8)
  await mkdir(at.folder, { recursive: true })
  await appendFile(at.path, 'was here\n')
  const file = await at.open()
  await file.append('new\n')
  await file.close()
  t.equal(await at.read(), 'new\n')
  t.equal((await at.earlier()).length, 1)
})

t.test('a path that cannot be had is an error of the system', async (t) => {
  const at = place(t)
  await mkdir(at.path, { recursive: true })
  await t.rejects(at.open(), { code: 'EISDIR' })
})
