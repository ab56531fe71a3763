import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { makeFolder } from '../../src/lib/make-folder.ts'

t.test('what is missing is made, with its mode, and the topmost of it named', async (t) => {
  const root = t.testdir()
  const folder = join(root, 'a/b/c')
  t.equal(await makeFolder(folder, 0o700), join(root, 'a'))
  t.equal((await stat(folder)).mode & 0o777, 0o700)
  t.equal(await makeFolder(folder), undefined, 'all of it is there')
  t.equal(await makeFolder(join(folder, 'd')), join(folder, 'd'))
})

t.test('several at a time do not get in one another’s way', async (t) => {
  const folder = join(t.testdir(), 'a/b/c')
  await Promise.all([makeFolder(folder), makeFolder(folder), makeFolder(join(folder, 'd'))])
  t.ok((await stat(join(folder, 'd'))).isDirectory())
})

t.test('a file in the way is an error', async (t) => {
  const root = t.testdir()
  await mkdir(join(root, 'a'))
  await writeFile(join(root, 'a/file'), '')
  await t.rejects(makeFolder(join(root, 'a/file')), { code: 'EEXIST' })
  await t.rejects(makeFolder(join(root, 'a/file/b')), { code: 'ENOTDIR' })
})

t.test('a folder that the system cannot make is an error, and not an endless loop', async (t) => {
  await t.rejects(makeFolder('/proc/muster/a'), { code: /^E/ })
})
