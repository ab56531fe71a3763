/** What a node offers of its disk: what is free, and what its work holds already of its share. */
import { link, mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { storageOf, volumeIn } from '../../src/client-agent/storage.ts'

const mib = 1024 * 1024

t.test('what work holds is offered with what is free, up to its share', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-storage-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const inner = join(folder, 'allocation', 'alloc', 'data')
  await mkdir(inner, { recursive: true })
  await writeFile(join(inner, 'a'), Buffer.alloc(40 * mib, 1))
  await link(join(inner, 'a'), join(inner, 'again'))
  await writeFile(join(folder, 'allocation', 'b'), Buffer.alloc(24 * mib, 1))
  const path = join(folder, 'allocation')
  const heldOf = async (...held: readonly { path: string; shareMb: number }[]) => {
    const { freeBytes, offeredMb } = await storageOf(folder, held)
    return offeredMb - Math.floor(freeBytes / mib)
  }
  t.equal(await heldOf(), 0)
  t.equal(await heldOf({ path, shareMb: 50 }), 50, 'no more than its share')
  const all = await heldOf({ path, shareMb: 1_000 })
  t.ok(all >= 64 && all < 68, `${all} MiB, a file of two names once`)
  t.equal(await heldOf({ path: join(folder, 'gone'), shareMb: 1_000 }), 0)
  const { blocks, bsize } = await statfs(folder)
  const { totalBytes, freeBytes, offeredMb, volume } = await storageOf(folder, [])
  t.equal(totalBytes, blocks * bsize)
  t.ok(freeBytes < totalBytes)
  t.equal(offeredMb, Math.floor(freeBytes / mib))
  t.not(volume, '')
})

t.test('the volume is what is mounted the nearest', (t) => {
  const mounts = [
    'overlay / overlay rw 0 0',
    '/dev/vdb /srv ext4 rw 0 0',
    String.raw`/dev/vdc /srv/my\040data ext4 rw 0 0`,
    '/dev/vdd /srv ext4 rw 0 0',
    '',
  ].join('\n')
  t.equal(volumeIn(mounts, '/var/lib'), 'overlay')
  t.equal(volumeIn(mounts, '/srv'), '/dev/vdd', 'the last hides those before it')
  t.equal(volumeIn(mounts, '/srv/my data/a'), '/dev/vdc')
  t.equal(volumeIn(mounts, '/srvx'), 'overlay')
  t.equal(volumeIn('', '/srv'), null)
  t.end()
})
