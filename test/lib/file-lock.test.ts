/** An exclusive lock on an empty file: who gets it, and that it needs neither room nor sound content. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { FileLock } from '../../src/lib/file-lock.ts'
import { temporaryFolder } from '../fsm/toy.ts'
import { fill, makeReadOnly, mountSmallDisk } from '../support/mounts.ts'

t.test('one holder at a time, by whatever path, until the release', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'a.lock')
  const lock = await FileLock.take(path)
  t.ok(lock)
  t.equal((await stat(path)).mode & 0o777, 0o600)
  t.equal(await FileLock.take(path), null)
  await symlink(path, join(folder, 'same'))
  t.equal(await FileLock.take(join(folder, 'same')), null)
  t.equal(await FileLock.take(path), null, 'a refused attempt leaves the lock as it was')
  lock?.release()
  lock?.release()
  const again = await FileLock.take(path)
  t.ok(again)
  again?.release()
  t.same((await readdir(folder)).toSorted(), ['a.lock', 'same'], 'no further files')
  t.equal((await stat(path)).size, 0, 'nothing is written')
})

t.test('the lock of a killed process is free', async (t) => {
  const path = join(t.testdir(), 'a.lock')
  const module = fileURLToPath(new URL('../../src/lib/file-lock.ts', import.meta.url))
  const script = `
    const { FileLock } = await import(${JSON.stringify(module)})
    globalThis.lock = await FileLock.take(${JSON.stringify(path)})
    console.log('taken')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script])
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  t.equal(await FileLock.take(path), null)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const lock = await FileLock.take(path)
  t.ok(lock)
  lock?.release()
})

t.test('damaged content is no obstacle', async (t) => {
  const path = join(t.testdir(), 'a.lock')
  await writeFile(path, Buffer.alloc(5000, 7))
  const lock = await FileLock.take(path)
  t.ok(lock)
  t.equal((await readFile(path)).length, 0)
  lock?.release()
})

t.test('a full disk is no obstacle', async (t) => {
  const folder = await temporaryFolder(t)
  if (!(await mountSmallDisk(t, folder, 1))) {
    t.comment('NOT TESTED: this machine lets the test mount nothing')
    return
  }
  const path = join(folder, 'a.lock')
  ;(await FileLock.take(path))?.release()
  await fill(join(folder, 'filler'))
  const lock = await FileLock.take(path)
  t.ok(lock)
  lock?.release()
  await rm(join(folder, 'filler'))
})

t.test('a file that cannot be written is an error, not a lock that two could hold', async (t) => {
  const folder = await temporaryFolder(t)
  const path = join(folder, 'a.lock')
  ;(await FileLock.take(path))?.release()
  const restore = await makeReadOnly(t, folder)
  if (restore === null) {
    t.comment('NOT TESTED: this machine lets the test mount nothing')
    return
  }
  if (process.getuid?.() !== 0) await chmod(path, 0o400)
  await t.rejects(FileLock.take(path), { code: /EROFS|EACCES/ })
  await restore()
})
