/** What memory a process takes for itself. */
import t from 'tap'
import { ownMemoryBytes } from '../../src/lib/own-memory.ts'

t.test('memory that is taken counts, mapped files do not', async (t) => {
  const before = ownMemoryBytes()
  t.ok(before > 2 ** 20, 'a process takes some')
  t.ok(before < process.memoryUsage.rss(), 'the program itself is a mapped file')
  const taken = Buffer.alloc(64 * 2 ** 20, 1)
  t.ok(ownMemoryBytes() - before > 0.8 * taken.length, `${taken.length} bytes more`)
})
