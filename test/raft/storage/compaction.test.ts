/** What compaction keeps, and which configuration it says was in force where the log now begins. */
import t from 'tap'
import type { DurableLogOptions } from '../../../src/raft/storage/durable-log.ts'
import { SimDisk } from '../../sim/disk.ts'
import {
  append,
  configuration,
  configurationEntry,
  entries,
  entry,
  hardState,
  openOn,
  reopened,
  smallLog,
  snapshotMeta,
  vote,
} from './harness.ts'

/** A log of 200 entries of 200 bytes, one write each: about 14 entries to a segment. */
async function longLog(options: DurableLogOptions = smallLog) {
  const sim = new SimDisk()
  const opened = await openOn(sim, options)
  for (let index = 1; index <= 200; index++) {
    await opened.store.write([
      append(
        index % 50 === 0
          ? configurationEntry(index, 1, `s${index}`)
          : entry(index, 1, Buffer.alloc(200)),
      ),
    ])
  }
  return { sim, ...opened }
}

await t.test('retention is a matter of bytes and of entries, and both hold', async (t) => {
  const rows = [
    { retainBytes: 0, retainEntries: 0, applied: 200, kept: 'the last segment' },
    { retainBytes: 20_000, retainEntries: 0, applied: 200, kept: '20,000 bytes' },
    { retainBytes: 0, retainEntries: 90, applied: 200, kept: '90 entries' },
    { retainBytes: 20_000, retainEntries: 150, applied: 200, kept: '150 entries' },
    { retainBytes: 0, retainEntries: 0, applied: 30, kept: 'what is not applied' },
    { retainBytes: 1e9, retainEntries: 0, applied: 200, kept: 'everything' },
  ]
  const found: string[] = []
  for (const row of rows) {
    const { store } = await longLog({ ...smallLog, ...row })
    const { baseIndex } = await store.compact(snapshotMeta(row.applied, 1, 0))
    const { bytes, segments } = store.stats()
    t.ok(bytes >= Math.min(row.retainBytes, 40_000), row.kept)
    t.ok(200 - baseIndex >= row.retainEntries, row.kept)
    t.ok(baseIndex <= row.applied, row.kept)
    found.push(`${row.kept}: from ${baseIndex + 1}, ${segments} segments`)
    await store.close()
  }
  t.strictSame(found, [
    'the last segment: from 199, 1 segments',
    '20,000 bytes: from 133, 6 segments',
    '90 entries: from 107, 8 segments',
    '150 entries: from 40, 13 segments',
    'what is not applied: from 27, 14 segments',
    'everything: from 1, 16 segments',
  ])
})

await t.test('the base knows the configuration in force at its own index', async (t) => {
  for (const applied of [40, 60, 120, 180]) {
    const { sim, store } = await longLog()
    const inForce = Math.floor(applied / 50) * 50
    const meta = snapshotMeta(applied, 1, inForce, configuration(`s${inForce}`))
    const { baseIndex } = await store.compact(meta)
    const atBase = Math.floor(baseIndex / 50) * 50
    await store.close()
    const { snapshot, configurations } = await reopened(sim)
    t.equal(snapshot.index, baseIndex)
    t.equal(snapshot.configurationIndex, atBase)
    if (atBase > 0) t.strictSame(snapshot.configuration, configuration(`s${atBase}`))
    t.strictSame(
      configurations.map(({ index }) => index),
      [50, 100, 150, 200].filter((index) => index > baseIndex),
    )
  }
})

await t.test('an old configuration below the base is kept through many compactions', async (t) => {
  const sim = new SimDisk()
  let opened = await openOn(sim)
  await opened.store.write([append(configurationEntry(1, 1, 's1'))])
  for (let round = 0; round < 10; round++) {
    const from = 2 + round * 40
    await opened.store.write([append(...entries(from, from + 39, 1, 150))])
    await opened.store.compact(snapshotMeta(from + 20, 1, 1))
    await opened.store.close()
    opened = await openOn(sim)
  }
  const { recovered, store } = opened
  t.ok(recovered.snapshot.index > 300)
  t.equal(recovered.snapshot.configurationIndex, 1)
  t.strictSame(recovered.snapshot.configuration, configuration('s1'))
  await store.close()
})

await t.test('files below the base are gone, also when a crash kept them', async (t) => {
  const { sim, store } = await longLog()
  const before = sim.names().length
  let removals = 0
  sim.onOperation = ({ type }) => {
    // The third removal does not happen any more.
    if (type === 'remove' && ++removals === 3) sim.kill()
  }
  const { baseIndex } = await store.compact(snapshotMeta(180, 1, 150, configuration('s150')))
  await store.close().catch(() => undefined)
  t.equal(sim.names().length, before - 2)
  sim.onOperation = () => undefined
  const { snapshot } = await reopened(sim)
  t.equal(snapshot.index, baseIndex)
  t.ok(sim.names().length <= 5, `${sim.names().length} files`)
})

await t.test('a log of votes alone does not grow for ever', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  await store.write([append(...entries(1, 3, 1))])
  for (let term = 2; term < 200; term++) await store.write([vote(hardState(term, 's1'))])
  t.ok(store.stats().segments > 3)
  await store.compact(snapshotMeta(3, 1))
  t.equal(store.stats().segments, 1)
  await store.close()
  const recovered = await reopened(sim)
  t.strictSame(recovered.hardState, hardState(199, 's1'))
  t.equal(recovered.snapshot.index, 3)
})

await t.test('what is recovered of the tail is bounded', async (t) => {
  const { sim, store } = await longLog()
  await store.close()
  const { tail, lastIndex } = await reopened(sim, { ...smallLog, tailBytesMax: 5000 })
  t.equal(lastIndex, 200)
  t.equal(tail.at(-1)?.index, 200)
  t.equal(tail[0]?.index, 200 - tail.length + 1)
  const bytes = tail.reduce((sum, { data }) => sum + data.length, 0)
  t.ok(bytes <= 5000 && bytes > 4500, `${bytes} bytes`)
})
