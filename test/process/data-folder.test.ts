/** A data folder belongs to one process at a time, and is free again however that process ended. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { claimDataFolder } from '../../src/process/data-folder.ts'

t.test('a folder is made, claimed once, and free after its release', async (t) => {
  const path = join(t.testdir(), 'a', 'b')
  const folder = await claimDataFolder(path)
  t.equal((await stat(path)).mode & 0o777, 0o700)
  t.equal(await readFile(join(path, 'muster.pid'), 'utf8'), `${process.pid}\n`)
  await t.rejects(claimDataFolder(path), {
    code: 'conflict',
    message: `the data folder ${path} is in use by process ${process.pid}; stop it, or give this one another data_dir`,
  })
  const other = join(path, '..', 'same')
  await symlink(path, other)
  await t.rejects(claimDataFolder(other), { code: 'conflict' }, 'also by another path')
  await folder.release()
  await folder.release()
  await t.rejects(stat(join(path, 'muster.pid')), { code: 'ENOENT' })
  await (await claimDataFolder(path)).release()
})

t.test('a killed process leaves the folder free', async (t) => {
  const path = t.testdir()
  const module = fileURLToPath(new URL('../../src/process/data-folder.ts', import.meta.url))
  const script = `
    const { claimDataFolder } = await import(${JSON.stringify(module)})
    await claimDataFolder(${JSON.stringify(path)})
    console.log('claimed')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script])
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  await t.rejects(claimDataFolder(path), { message: new RegExp(`in use by process ${child.pid};`) })
  child.kill('SIGKILL')
  await once(child, 'exit')
  await (await claimDataFolder(path)).release()
})

t.test(
  'a full disk that has no room for the pid does not keep the folder from its owner',
  async (t) => {
    const path = t.testdir({ 'muster.pid': t.fixture('symlink', '/dev/full') })
    const folder = await claimDataFolder(path)
    await t.rejects(claimDataFolder(path), { message: /in use by another process;/ })
    await folder.release()
    await (await claimDataFolder(path)).release()
  },
)

t.test('a folder that cannot be made is named', async (t) => {
  const path = join(t.testdir({ file: '' }), 'file', 'data')
  await t.rejects(claimDataFolder(path), { code: 'unavailable', message: new RegExp(path) })
})
