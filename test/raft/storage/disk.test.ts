/** The suite of the contract `Disk`: the real one and its fake behave alike as long as nothing fails. */
import fs from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { Disk } from '../../../src/raft/storage/disk.ts'
import { systemDisk } from '../../../src/raft/storage/system-disk.ts'
import { SimDisk } from '../../sim/disk.ts'
import { immediateClock } from './harness.ts'

async function contract(name: string, open: (t: Test) => Promise<Disk>): Promise<void> {
  await t.test(`${name}: bytes are where they were written`, async (t) => {
    const disk = await open(t)
    const file = await disk.create('a')
    t.equal(await file.size(), 0)
    await file.write(Buffer.from('hello'), 0)
    await file.write(Buffer.from('world'), 8)
    await file.sync()
    t.equal(await file.size(), 13)
    const buffer = Buffer.alloc(20, 'x')
    t.equal(await file.read(buffer, 3), 10)
    t.equal(buffer.toString('latin1', 0, 12), 'lo\0\0\0worldxx')
    t.equal(await file.read(buffer, 13), 0)
    await file.truncate(4)
    await file.truncate(6)
    t.equal(await file.read(buffer, 0), 6)
    t.equal(buffer.toString('latin1', 0, 6), 'hell\0\0')
    await file.close()
    await t.rejects(file.size())
  })

  await t.test(`${name}: names are created, opened, renamed and removed`, async (t) => {
    const disk = await open(t)
    const file = await disk.create('a')
    await file.write(Buffer.from('1'), 0)
    await t.rejects(disk.create('a'), { code: 'EEXIST' })
    await t.rejects(disk.open('b'), { code: 'ENOENT' })
    await t.rejects(disk.rename('b', 'c'), { code: 'ENOENT' })
    await t.rejects(disk.remove('b'), { code: 'ENOENT' })
    await disk.rename('a', 'b')
    await file.write(Buffer.from('2'), 1)
    await disk.syncFolder()
    t.strictSame(await disk.list(), ['b'])
    const again = await disk.open('b')
    t.equal(await again.size(), 2)
    await again.close()
    await disk.remove('b')
    t.strictSame(await disk.list(), [])
    t.equal(await file.size(), 2, 'an open file outlives its name')
    await file.close()
  })
}

await contract('real disk', (t) => systemDisk(path.join(t.testdir(), 'x', 'y')))
await contract('simulated disk', async () => new SimDisk().mount(immediateClock))

await t.test('nobody but the owner may read what a real disk holds', async (t) => {
  const folder = path.join(t.testdir(), 'private')
  const disk = await systemDisk(folder)
  await (await disk.create('a')).close()
  t.equal(fs.statSync(folder).mode & 0o777, 0o700)
  t.equal(fs.statSync(path.join(folder, 'a')).mode & 0o777, 0o600)
  await t.rejects(disk.create('../b'), { name: 'AssertionError' })
})

await t.test('a crash of the simulated disk ends all that its processes had open', async (t) => {
  const sim = new SimDisk()
  const disk = sim.mount(immediateClock)
  const file = await disk.create('a')
  await file.write(Buffer.from('1'), 0)
  await file.sync()
  await disk.syncFolder()
  const pending = file.write(Buffer.from('2'), 0)
  sim.crash({ next: () => 0 })
  await t.rejects(pending, { code: 'unavailable' })
  await t.rejects(file.size(), { code: 'unavailable' })
  await t.rejects(disk.list(), { code: 'unavailable' })
  t.equal(Buffer.from(sim.content('a')).toString(), '1')
})
