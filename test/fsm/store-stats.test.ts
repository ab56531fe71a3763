/** LevelDB's own words, as numbers. */
import t from 'tap'
import { parseLevels } from '../../src/fsm/store-stats.ts'
import { Store, storeLimits } from '../../src/fsm/store.ts'

const MiB = 2 ** 20

t.test('a table for people becomes numbers, and what is no row is passed over', async (t) => {
  const text = `                               Compactions
Level  Files Size(MB) Time(sec) Read(MB) Write(MB)
--------------------------------------------------
  0        1        0         0        0         2
  2       13      104        15     1024      2048
`
  const none = { bytes: 0, compactionSeconds: 0, readBytes: 0 }
  t.same(parseLevels(text), [
    { level: 0, files: 1, ...none, writtenBytes: 2 * MiB },
    {
      level: 2,
      files: 13,
      bytes: 104 * MiB,
      compactionSeconds: 15,
      readBytes: 1024 * MiB,
      writtenBytes: 2048 * MiB,
    },
  ])
  t.same(parseLevels('not what it was'), [])
})

t.test(
  'a store tells its files once rows are in them, and nothing once it is closed',
  async (t) => {
    const store = await Store.open(t.testdir(), storeLimits)
    await store.write(new Map([['a', Buffer.alloc(1_000)]]))
    t.ok(store.stats().unflushedBytes >= 1_000)
    await store.settle()
    const { levels, memoryBytes, unflushedBytes } = store.stats()
    t.equal(
      levels.reduce((sum, { files }) => sum + files, 0),
      1,
    )
    t.ok(memoryBytes > 0)
    t.ok(unflushedBytes < 1_000)
    await store.close()
    t.throws(() => store.stats(), { code: 'unavailable' })
  },
)
