/** What the log does while its disk is full or read-only: it waits, and then goes on as if nothing had been. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { DiskGate } from '../../../src/lib/disk-gate.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { seededRandom } from '../../../src/lib/random.ts'
import { openDurableLog } from '../../../src/raft/storage/durable-log.ts'
import { systemDisk } from '../../../src/raft/storage/system-disk.ts'
import { refusals, SimDisk } from '../../sim/disk.ts'
import { manualClock } from '../../support/manual-clock.ts'
import {
  append,
  copyOf,
  entries,
  entry,
  hardState,
  openOn,
  reopened,
  smallLog,
  snapshotMeta,
  vote,
} from './harness.ts'

/** A gate whose next attempt comes when the test says so. */
function gateOf(t: Test) {
  const clock = manualClock()
  const gate = new DiskGate({ clock, logger: silentLogger })
  t.teardown(() => gate.close())
  const tryAgain = async () => {
    clock.advance(1_000)
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  return { gate, tryAgain }
}

for (const refusal of refusals) {
  for (const seed of [1, 2, 3, 4]) {
    await t.test(`a disk that is ${refusal}, with seed ${seed}`, async (t) => {
      const sim = new SimDisk({ random: seededRandom(seed) })
      const { gate, tryAgain } = gateOf(t)
      const { store } = await openOn(sim, { ...smallLog, gate })
      await store.write([append(entry(1, 1)), vote(hardState(1, 's1'))])
      // The segment that was prepared already may be used; the one after it is not made any more.
      sim.refusal = refusal
      let done = 1
      const writing = (async () => {
        for (let index = 2; index <= 80; index += 4) {
          await store.write([append(...entries(index, index + 3, 1, 300))])
          done = index + 3
        }
      })()
      for (let i = 0; i < 5; i += 1) await tryAgain()
      t.ok(gate.refusing)
      t.ok(done < 81)
      const held = done
      t.equal((await store.read(1, held, 1e6)).length, held, 'what is there is read')

      const asKilled = await reopened(copyOf(sim))
      t.ok(asKilled.lastIndex >= held, 'a start finds all that was stored')
      t.ok(asKilled.lastIndex <= held + 4, 'and at most what was being written')
      const cut = copyOf(sim)
      cut.crash(seededRandom(seed))
      t.ok((await reopened(cut)).lastIndex >= held)

      sim.refusal = null
      for (let i = 0; i < 5; i += 1) await tryAgain()
      await writing
      t.notOk(gate.refusing)
      await store.write([append(entry(82, 2)), vote(hardState(2, 's2'))])
      t.equal((await store.read(1, 82, 1e6)).length, 82)
      await store.close()
      const recovered = await reopened(sim)
      t.equal(recovered.lastIndex, 82)
      t.equal(recovered.hardState.term, 2)
    })
  }
}

await t.test('a read-only disk keeps its old files until it takes writes', async (t) => {
  const sim = new SimDisk()
  const { gate, tryAgain } = gateOf(t)
  const { store } = await openOn(sim, { ...smallLog, gate })
  for (let index = 1; index <= 60; index++) {
    await store.write([append(entry(index, 1, Buffer.alloc(200)))])
  }
  const { length } = sim.names()
  sim.refusal = 'read-only'
  await store.compact(snapshotMeta(40, 1))
  await tryAgain()
  t.equal(sim.names().length, length)
  sim.refusal = null
  await store.compact(snapshotMeta(60, 1))
  await tryAgain()
  t.ok(sim.names().length < length)
  await store.write([append(entry(61, 1))])
  await store.close()
  t.equal((await reopened(sim)).lastIndex, 61)
})

await t.test('a reset waits as well', async (t) => {
  const sim = new SimDisk()
  const { gate, tryAgain } = gateOf(t)
  const { store } = await openOn(sim, { ...smallLog, gate })
  await store.write([append(...entries(1, 30, 1, 300))])
  sim.refusal = 'read-only at once'
  const resetting = store.reset(snapshotMeta(90, 3), hardState(3))
  await tryAgain()
  t.ok(gate.refusing)
  sim.refusal = null
  await tryAgain()
  await resetting
  await store.write([append(entry(91, 3))])
  await store.close()
  t.equal((await reopened(sim)).lastIndex, 91)
})

await t.test('a sync that fails is final, also for want of space', async (t) => {
  const sim = new SimDisk()
  const { gate } = gateOf(t)
  const { store } = await openOn(sim, { ...smallLog, gate })
  sim.failNextSync('log-0000000000000001.muster', 'ENOSPC')
  await t.rejects(store.write([append(entry(1, 1))]), { code: 'unavailable' })
  t.notOk(gate.refusing)
  await store.close()
})

await t.test('a log that is closed while its disk refuses comes to its end', async (t) => {
  const sim = new SimDisk()
  const { gate } = gateOf(t)
  const { store } = await openOn(sim, { ...smallLog, gate })
  await store.write([append(entry(1, 1))])
  sim.refusal = 'full, writing anew'
  const writing = store.write([append(entry(2, 1))])
  gate.close()
  await t.rejects(writing, { code: 'unavailable' })
  await store.close()
  sim.refusal = null
  t.equal((await reopened(sim)).lastIndex, 1)
})

await t.test('while its folder is gone nothing is said to be durable', async (t) => {
  const sim = new SimDisk({ random: seededRandom(1) })
  const { gate, tryAgain } = gateOf(t)
  const { store } = await openOn(sim, { ...smallLog, gate })
  await store.write([append(entry(1, 1)), vote(hardState(1, 's1'))])
  let done = 1
  // The folder goes while this is written.
  const second = store.write([append(entry(2, 1))]).then(() => (done = 2))
  gate.hold('folder')
  const third = second.then(() => store.write([append(entry(3, 1))])).then(() => (done = 3))
  await tryAgain()
  await tryAgain()
  t.equal(done, 1)
  gate.release('folder')
  await tryAgain()
  await third
  t.equal(done, 3)

  gate.hold('folder')
  const last = t.rejects(store.write([append(entry(4, 1))]), { code: 'unavailable' })
  await tryAgain()
  gate.close()
  await last
  await store.close()
})

await t.test('a log knows whether its file was deleted', async (t) => {
  const folder = t.testdir()
  const { store } = await openDurableLog(await systemDisk(folder), smallLog)
  t.ok(await store.hasFile(), 'there is none before the first write')
  await store.write([append(entry(1, 1)), vote(hardState(1, 's1'))])
  t.ok(await store.hasFile())
  for (const name of await readdir(folder)) await rm(join(folder, name), { force: true })
  t.notOk(await store.hasFile())
  await store.close()
  t.ok(await store.hasFile(), 'it is closed')
})
