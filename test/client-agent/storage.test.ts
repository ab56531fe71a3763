/** What a node offers of its disk: what is free, and what its work holds already of its share. */
import { link, lstat, mkdir, mkdtemp, realpath, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { mountPointsIn, storageOf, volumeIn } from '../../src/client-agent/storage.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { eventually } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'

const mib = 1024 * 1024
const clock = systemClock

async function newFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-storage-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return realpath(folder)
}

t.test('what work holds is offered with what is free, up to its share', async (t) => {
  const folder = await newFolder(t)
  const inner = join(folder, 'allocation', 'alloc', 'data')
  await mkdir(inner, { recursive: true })
  await writeFile(join(inner, 'a'), Buffer.alloc(40 * mib, 1))
  await link(join(inner, 'a'), join(inner, 'again'))
  await writeFile(join(folder, 'allocation', 'b'), Buffer.alloc(24 * mib, 1))
  const path = join(folder, 'allocation')
  const heldOf = async (...held: readonly { path: string; shareMb: number }[]) => {
    const { freeBytes, offeredMb } = await storageOf({ folder, held, clock })
    return offeredMb - Math.floor(freeBytes / mib)
  }
  t.equal(await heldOf(), 0)
  t.equal(await heldOf({ path, shareMb: 50 }), 50, 'no more than its share')
  const all = await heldOf({ path, shareMb: 1_000 })
  t.ok(all >= 64 && all < 68, `${all} MiB, a file of two names once`)
  t.equal(await heldOf({ path: join(folder, 'gone'), shareMb: 1_000 }), 0)
  const { blocks, bsize } = await statfs(folder)
  const { totalBytes, freeBytes, offeredMb, volume } = await storageOf({ folder, held: [], clock })
  t.equal(totalBytes, blocks * bsize)
  t.ok(freeBytes < totalBytes)
  t.equal(offeredMb, Math.floor(freeBytes / mib))
  t.not(volume, '')
})

/** With a file of 9 MiB each. */
async function folderOf(t: Test, ...names: readonly string[]): Promise<string> {
  const folder = await newFolder(t)
  for (const name of names) {
    await mkdir(join(folder, name), { recursive: true })
    await writeFile(join(folder, name, 'file'), Buffer.alloc(9 * mib, 1))
  }
  return folder
}

t.test('a mount among the work is not looked at', async (t) => {
  const folder = await folderOf(t, 'first', 'first/a remote', 'second')
  const mounts = [
    'overlay / overlay rw 0 0',
    String.raw`remote:/ ${folder}/first/a\040remote nfs4 rw 0 0`,
    `files ${folder}/second fuse rw 0 0`,
  ].join('\n')
  const looked: string[] = []
  const held = ['first', 'second'].map((name) => ({ path: join(folder, name), shareMb: 100 }))
  const { freeBytes, offeredMb } = await storageOf({
    folder,
    held,
    clock,
    machine: {
      mounts: async () => mounts,
      look(path) {
        looked.push(path.slice(folder.length))
        return lstat(path)
      },
    },
  })
  const heldMb = offeredMb - Math.floor(freeBytes / mib)
  t.ok(heldMb >= 9 && heldMb < 12, `${heldMb} MiB of one file`)
  t.strictSame(looked.toSorted(), ['/first', '/first/file'])
})

t.test('a file system that does not answer is given up', async (t) => {
  const folder = await folderOf(t, 'first', 'second', 'third')
  const held = ['first', 'second', 'third'].map((name) => ({
    path: join(folder, name),
    shareMb: 8,
  }))
  const clock = manualClock()
  const answer = Promise.withResolvers<void>()
  const looked: string[] = []
  const found = storageOf({
    folder,
    held,
    clock,
    machine: {
      mounts: async () => '',
      async look(path) {
        looked.push(path.slice(folder.length))
        if (path.endsWith('/second')) await answer.promise
        return lstat(path)
      },
    },
  })
  await eventually('the second is looked at', () => looked.includes('/second') || undefined)
  clock.advance(2_000)
  const { freeBytes, offeredMb } = await found
  t.equal(offeredMb - Math.floor(freeBytes / mib), 8, 'what was seen before counts')
  t.equal(clock.timerCount, 0)
  answer.resolve()
  await delay(50)
  t.strictSame(looked, ['/first', '/first/file', '/second'], 'nothing goes on')
})

t.test('work of many files is looked at for a time', async (t) => {
  const folder = await folderOf(t, 'first', 'second', 'third')
  const held = ['first', 'second', 'third'].map((name) => ({
    path: join(folder, name),
    shareMb: 8,
  }))
  // No timer fires: the loop itself looks at the clock.
  let nowMs = 0
  const look = (path: string) => {
    nowMs += 450
    return lstat(path)
  }
  const { freeBytes, offeredMb } = await storageOf({
    folder,
    held,
    clock: { ...manualClock(), monotonicMs: () => nowMs },
    machine: { mounts: async () => '', look },
  })
  t.equal(offeredMb - Math.floor(freeBytes / mib), 16)
  t.equal(nowMs, 5 * 450)
})

t.test('until the folder is there, the one above it is measured', async (t) => {
  const above = await newFolder(t)
  const before = await storageOf({ folder: join(above, 'allocations'), held: [], clock })
  t.ok(before.totalBytes > 0)
  const there = await storageOf({ folder: '/proc', held: [], clock })
  t.equal(there.totalBytes, 0, 'a mount below another is measured itself')
  t.equal(there.volume, 'proc')
  await t.rejects(storageOf({ folder: join(above, 'gone/allocations'), held: [], clock }))
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
  t.strictSame([...mountPointsIn(mounts)], ['/', '/srv', '/srv/my data'])
  t.end()
})
