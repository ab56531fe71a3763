/** The suite of the contract `LogStore`: it holds for every form of the log on every form of disk. */
import type { Test } from 'tap'
import type { LogStore, RecoveredLog } from '../../../src/raft/storage/log-store.ts'
import {
  append,
  brief,
  configuration,
  configurationEntry,
  entries,
  entry,
  hardState,
  overwrite,
  readAll,
  snapshotMeta,
  vote,
} from './harness.ts'

export type Subject = {
  /** Opens the log, or opens it again after `close`. Segments of 4096 bytes, nothing retained beyond need. */
  readonly open: () => Promise<{ readonly store: LogStore; readonly recovered: RecoveredLog }>
}

export async function logStoreContract(
  t: Test,
  name: string,
  subject: (t: Test) => Promise<Subject>,
): Promise<void> {
  const holds = (sentence: string, check: (t: Test, subject: Subject) => Promise<void>) =>
    t.test(`${name}: ${sentence}`, async (t) => check(t, await subject(t)))

  await holds('a new log is empty', async (t, { open }) => {
    const { store, recovered } = await open()
    t.strictSame(recovered, {
      hardState: hardState(0),
      snapshot: {
        index: 0,
        term: 0,
        configuration: { clusterId: '', members: [] },
        configurationIndex: 0,
      },
      lastIndex: 0,
      termRuns: [],
      configurations: [],
      tail: [],
    })
    t.equal(store.stats().firstIndex, 1)
    await store.close()
  })

  await holds('what was written is there after a restart', async (t, { open }) => {
    const first = await open()
    await first.store.write([vote(hardState(1, 's1'))])
    await first.store.write([
      append(configurationEntry(1, 1, 's1'), entry(2, 1, '', 'noop')),
      { truncateFrom: null, entries: [entry(3, 2)], hardState: hardState(2, null, 2) },
    ])
    await first.store.close()
    const { store, recovered } = await open()
    t.strictSame(recovered.hardState, hardState(2, null, 2))
    t.equal(recovered.lastIndex, 3)
    t.strictSame(recovered.termRuns, [
      { term: 1, firstIndex: 1 },
      { term: 2, firstIndex: 3 },
    ])
    t.strictSame(recovered.configurations.map(plain), [plain(configurationEntry(1, 1, 's1'))])
    t.strictSame(recovered.tail.map(plain), [
      plain(configurationEntry(1, 1, 's1')),
      plain(entry(2, 1, '', 'noop')),
      plain(entry(3, 2)),
    ])
    await store.close()
  })

  await holds('a vote for a server whose id is empty is not "no vote"', async (t, { open }) => {
    const first = await open()
    await first.store.write([vote(hardState(4, ''))])
    await first.store.close()
    const { store, recovered } = await open()
    t.equal(recovered.hardState.votedFor, '')
    await store.close()
  })

  await holds('entries are overwritten from any index on', async (t, { open }) => {
    const first = await open()
    await first.store.write([append(...entries(1, 50, 1))])
    await first.store.write([overwrite(...entries(31, 60, 2))])
    await first.store.write([overwrite(...entries(45, 46, 3)), append(entry(47, 3))])
    await first.store.write([{ truncateFrom: 47, entries: [], hardState: null }])
    await first.store.write([overwrite(entry(47, 4))])
    const expected = brief([
      ...entries(1, 30, 1),
      ...entries(31, 44, 2),
      ...entries(45, 46, 3),
      entry(47, 4),
    ])
    t.strictSame(brief(await first.store.read(1, 47, 1e6)), expected)
    await first.store.close()
    const { store, recovered } = await open()
    t.strictSame(brief(await readAll(store, recovered)), expected)
    t.strictSame(
      recovered.termRuns.map((run) => [run.term, run.firstIndex]),
      [
        [1, 1],
        [2, 31],
        [3, 45],
        [4, 47],
      ],
    )
    await store.close()
  })

  await holds('one batch may append and cut in turns', async (t, { open }) => {
    const { store } = await open()
    await store.write([
      append(...entries(1, 5, 1)),
      overwrite(...entries(3, 6, 2)),
      { truncateFrom: 6, entries: [], hardState: hardState(3) },
      { truncateFrom: 99, entries: [entry(6, 3)], hardState: null },
    ])
    const expected = [...entries(1, 2, 1), ...entries(3, 5, 2), entry(6, 3)]
    t.strictSame(brief(await store.read(1, 6, 1e6)), brief(expected))
    await store.close()
  })

  await holds('a read gives at least one entry, then what fits', async (t, { open }) => {
    const { store } = await open()
    await store.write([append(...entries(1, 20, 1, 1000))])
    await store.write([append(...entries(21, 40, 1, 1000))])
    const read = async (from: number, to: number, bytesMax: number) =>
      (await store.read(from, to, bytesMax)).map(({ index }) => index)
    t.strictSame(await read(1, 40, 0), [1])
    t.strictSame(await read(19, 40, 3999), [19, 20, 21])
    t.strictSame(await read(19, 40, 4000), [19, 20, 21, 22])
    t.strictSame(await read(19, 20, 1e6), [19, 20])
    t.equal((await read(1, 40, 1e9)).length, 40)
    await t.rejects(store.read(0, 1, 10), { name: 'AssertionError' })
    await t.rejects(store.read(40, 41, 10), { name: 'AssertionError' })
    await store.close()
  })

  await holds('entries out of order are refused and harm nothing', async (t, { open }) => {
    const { store } = await open()
    await store.write([append(...entries(1, 3, 1))])
    await t.rejects(store.write([append(entry(5, 1))]), { name: 'AssertionError' })
    await t.rejects(store.write([append(entry(4, 0))]), { name: 'AssertionError' })
    await store.write([append(entry(4, 1))])
    t.equal((await store.read(1, 4, 1e6)).length, 4)
    await store.close()
  })

  await holds('a write may be larger than a segment', async (t, { open }) => {
    const first = await open()
    await first.store.write([append(entry(1, 1), entry(2, 1, Buffer.alloc(100_000, 7)))])
    await first.store.write([append(...entries(3, 200, 1, 300))])
    await first.store.write([append(...entries(201, 210, 2))])
    await first.store.close()
    const { store, recovered } = await open()
    const all = await readAll(store, recovered)
    t.equal(all.length, 210)
    t.equal(all[1]?.data.length, 100_000)
    t.ok(all[1]?.data.every((byte) => byte === 7))
    await store.close()
  })

  await holds('compaction keeps what the state does not have', async (t, { open }) => {
    const first = await open()
    for (let index = 1; index <= 100; index++) {
      const added =
        index === 20 ? configurationEntry(20, 1, 's2') : entry(index, 1, Buffer.alloc(200))
      await first.store.write([append(added)])
    }
    const before = first.store.stats()
    const { baseIndex, baseTerm } = await first.store.compact(
      snapshotMeta(50, 1, 20, configuration('s2')),
    )
    t.ok(baseIndex > 20, `something was cut (${baseIndex})`)
    t.ok(baseIndex <= 50)
    t.equal(baseTerm, 1)
    t.equal(first.store.stats().firstIndex, baseIndex + 1)
    t.ok(first.store.stats().bytes < before.bytes)
    await t.rejects(first.store.read(baseIndex, 60, 10), { name: 'AssertionError' })
    await first.store.write([append(entry(101, 2))])
    await first.store.close()
    const { store, recovered } = await open()
    t.strictSame(recovered.snapshot, snapshotMeta(baseIndex, 1, 20, configuration('s2')))
    t.strictSame(
      (await readAll(store, recovered)).map(({ index }) => index),
      Array.from({ length: 101 - baseIndex }, (_, at) => baseIndex + 1 + at),
    )
    t.strictSame(
      await store.compact(snapshotMeta(10, 1)),
      { baseIndex, baseTerm: 1 },
      'an older state cuts nothing',
    )
    await store.close()
  })

  await holds('a reset puts a snapshot in place of the log', async (t, { open }) => {
    const first = await open()
    await first.store.write([append(...entries(1, 100, 1, 100))])
    const meta = snapshotMeta(500, 7, 450, configuration('s9'))
    await first.store.reset(meta, hardState(8, 's3', 500))
    t.equal(first.store.stats().firstIndex, 501)
    await first.store.write([append(...entries(501, 510, 8))])
    await first.store.close()
    const second = await open()
    t.strictSame(second.recovered.snapshot, meta)
    t.strictSame(second.recovered.hardState, hardState(8, 's3', 500))
    t.strictSame(brief(second.recovered.tail), brief(entries(501, 510, 8)))
    // To an index the log already had, as when its entries were of another leader.
    await second.store.reset(snapshotMeta(505, 9), hardState(9))
    await second.store.close()
    const { store, recovered } = await open()
    t.strictSame(recovered.snapshot, snapshotMeta(505, 9))
    t.equal(recovered.lastIndex, 505)
    t.strictSame(recovered.termRuns, [])
    t.strictSame(recovered.configurations, [])
    await store.close()
  })

  await holds('an empty log can be reset', async (t, { open }) => {
    const first = await open()
    await first.store.reset(snapshotMeta(9, 2, 3), hardState(2))
    await first.store.close()
    const { store, recovered } = await open()
    t.strictSame(recovered.snapshot, snapshotMeta(9, 2, 3))
    await store.close()
  })

  await holds('reads may overlap writes, truncations and compaction', async (t, { open }) => {
    const { store } = await open()
    await store.write([append(...entries(1, 100, 1, 100))])
    const work: Promise<unknown>[] = []
    const seen: number[] = []
    for (let round = 0; round < 20; round++) {
      const last = 100 + round
      work.push(
        store.read(60, last, 1e6).then((read) => {
          for (const item of read) t.equal(item.data[0], 1 + (item.index % 255))
          return seen.push(read.length)
        }),
      )
      const writing =
        round % 5 === 4
          ? [overwrite(...entries(last - 2, last + 1, 1 + round, 100))]
          : [append(...entries(last + 1, last + 1, 1 + round, 100))]
      await store.write(writing)
      if (round === 10) work.push(store.compact(snapshotMeta(59, 1)))
    }
    await Promise.all(work)
    t.strictSame(
      seen.sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, round) => 41 + round),
    )
    await store.close()
  })

  await holds('a closed log refuses and can be opened again', async (t, { open }) => {
    const first = await open()
    await first.store.close()
    await first.store.close()
    await t.rejects(first.store.write([append(entry(1, 1))]), { code: 'unavailable' })
    await t.rejects(first.store.read(1, 1, 1), { code: 'unavailable' })
    const { store, recovered } = await open()
    t.equal(recovered.lastIndex, 0)
    await store.close()
  })
}

function plain(item: { index: number; term: number; kind: string; data: Uint8Array }): unknown {
  return { ...item, data: Buffer.from(item.data).toString('latin1') }
}
