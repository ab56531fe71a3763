/** What the log does when its disk fails, fills up or stands still. */
import t from 'tap'
import type { Clock } from '../../../src/lib/clock.ts'
import { openDurableLog } from '../../../src/raft/storage/durable-log.ts'
import { SimDisk } from '../../sim/disk.ts'
import {
  append,
  entries,
  entry,
  hardState,
  openOn,
  reopened,
  smallLog,
  snapshotMeta,
  vote,
} from './harness.ts'

const firstName = 'log-0000000000000001.muster'

for (const type of ['sync', 'write'] as const) {
  await t.test(`a failed ${type} is final`, async (t) => {
    const sim = new SimDisk()
    const { store } = await openOn(sim)
    await store.write([append(entry(1, 1))])
    sim.failNext(type, firstName)
    await t.rejects(store.write([append(entry(2, 1))]), {
      code: 'unavailable',
      cause: { message: `${type} of ${firstName} failed` },
    })
    // The disk would work again; the store must not believe it.
    const cause = { code: 'EIO' }
    await t.rejects(store.write([append(entry(2, 1))]), { code: 'unavailable', cause })
    await t.rejects(store.compact(snapshotMeta(1, 1)), { code: 'unavailable', cause })
    await t.rejects(store.reset(snapshotMeta(9, 1), hardState(1)), { code: 'unavailable', cause })
    await t.rejects(store.read(1, 1, 1), { code: 'unavailable', cause })
    await store.close()
  })
}

await t.test('an entry whose sync failed is durable if the next start finds it', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  await store.write([append(entry(1, 1))])
  sim.failNextSync(firstName)
  await t.rejects(store.write([append(entry(2, 1))]))
  await store.close()
  // The kernel shows the pages and takes them for clean.
  t.equal((await reopened(sim)).lastIndex, 2)
  sim.crash({ next: () => 0 })
  t.equal((await reopened(sim)).lastIndex, 2)
})

await t.test(
  'a failed removal of an old file ends the log, and the next start removes it',
  async (t) => {
    const sim = new SimDisk()
    const { store } = await openOn(sim)
    for (let index = 1; index <= 60; index++)
      await store.write([append(entry(index, 1, Buffer.alloc(200)))])
    sim.failNext('remove')
    const { baseIndex } = await store.compact(snapshotMeta(60, 1))
    await store.close()
    const recovered = await reopened(sim)
    t.equal(recovered.snapshot.index, baseIndex)
    t.equal(sim.names().includes(firstName), false)
  },
)

await t.test('a full disk harms nothing until the next segment is needed', async (t) => {
  const sim = new SimDisk()
  sim.capacityBytes = 6000
  const { store } = await openOn(sim)
  await store.write([append(...entries(1, 10, 1, 100))])
  await store.write([append(...entries(11, 20, 1, 100))])
  sim.capacityBytes = 20_000
  await store.write([append(...entries(21, 40, 1, 100))])
  sim.capacityBytes = 0
  await t.rejects(store.write([append(...entries(41, 80, 1, 100))]), {
    code: 'unavailable',
    cause: { code: 'ENOSPC' },
  })
  await store.close()
  sim.capacityBytes = Infinity
  t.equal((await reopened(sim)).lastIndex, 40)
})

await t.test('a write waits as long as the disk stands still', async (t) => {
  const timers: { atMs: number; run: () => void }[] = []
  let nowMs = 0
  const clock: Clock = {
    monotonicMs: () => nowMs,
    wallMs: () => nowMs,
    setTimer(delayMs, run) {
      const timer = { atMs: nowMs + delayMs, run }
      timers.push(timer)
      return { cancel: () => timers.splice(timers.indexOf(timer), 1) }
    },
  }
  const settle = async (work: Promise<unknown>): Promise<void> => {
    let done = false
    void work.finally(() => (done = true))
    for (;;) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      if (done) return
      timers.sort((a, b) => a.atMs - b.atMs)
      const timer = timers.shift()
      if (timer === undefined) throw new Error('nothing will ever happen')
      nowMs = timer.atMs
      timer.run()
    }
  }
  const sim = new SimDisk({ delay: { lowMs: 0.1, highMs: 1 } })
  const opening = openDurableLog(sim.mount(clock), smallLog)
  await settle(opening)
  const { store } = await opening
  await settle(store.write([vote(hardState(1, 's1'))]))
  const before = nowMs
  const writing = store.write([append(entry(1, 1))])
  sim.stall(500)
  await settle(writing)
  t.ok(nowMs - before >= 500, `${nowMs - before} ms`)
  t.ok(nowMs - before < 510)
  await settle(store.close())
})

await t.test('closing waits for the write under way and for readers', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  await store.write([append(...entries(1, 20, 1, 100))])
  const writing = store.write([append(entry(21, 1))])
  const reading = store.read(1, 20, 1e6)
  await store.close()
  t.equal((await reading).length, 20)
  await writing.catch(() => undefined)
  const { lastIndex } = await reopened(sim)
  t.ok(lastIndex === 20 || lastIndex === 21)
})
