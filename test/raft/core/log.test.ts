import t from 'tap'
import { RaftLog } from '../../../src/raft/core/log.ts'
import type { Entry } from '../../../src/raft/core/message.ts'
import { seededRandom, randomInteger } from '../../../src/lib/random.ts'

const data = new Uint8Array(10)
const entry = (index: number, term: number): Entry => ({ index, term, kind: 'command', data })

function logOf(...terms: number[]): RaftLog {
  const log = new RaftLog({
    base: { index: 0, term: 0 },
    lastIndex: 0,
    termRuns: [],
    tail: [],
  })
  for (const [i, term] of terms.entries()) log.append(entry(i + 1, term))
  return log
}

t.test('finds where two logs can agree at the latest, a term at a time', async (t) => {
  const log = logOf(1, 1, 1, 3, 3, 5)
  const cases: [index: number, term: number, expected: number][] = [
    [6, 5, 6],
    [6, 4, 5],
    [6, 2, 3],
    [9, 9, 6],
    [4, 2, 3],
    [6, 0, 0],
  ]
  for (const [index, term, expected] of cases) {
    t.equal(log.latestNotAbove(index, term), expected, `index ${index}, term ${term}`)
  }
})

t.test('lets go of what nobody wants any more, but for the last few', async (t) => {
  const log = logOf(...Array.from({ length: 1_000 }, () => 1))
  const inMemoryFrom = () => {
    let from = 1
    while (log.slice(from, from, 1e9) === undefined) from += 1
    return from
  }
  log.shrink(901, 1e9)
  t.equal(inMemoryFrom(), 1, 'what the disk does not hold yet stays')
  log.takeWrites()
  log.persisted(1_000, 1)
  log.shrink(201, 1e9)
  t.equal(inMemoryFrom(), 1, 'a few are kept')
  log.shrink(901, 1e9)
  t.equal(inMemoryFrom(), 901 - 256)
  log.shrink(901, 100 * (data.length + 64))
  t.equal(inMemoryFrom(), 901, 'and what is wanted goes when there is too much of it')
  t.equal(log.termAt(1), 1, 'its term is known all the same')
})

t.test('of large entries keeps none that nobody wants', async (t) => {
  const log = logOf(1)
  const large = Buffer.alloc(100_000)
  for (let index = 2; index <= 100; index += 1) log.append({ ...entry(index, 1), data: large })
  log.takeWrites()
  log.persisted(100, 1)
  log.shrink(50, 1e9)
  t.equal(log.slice(49, 100, 1e9), undefined)
  t.equal(log.slice(50, 100, 1e9)?.length, 51, 'what is wanted stays')
  log.shrink(101, 1e9)
  t.equal(log.slice(80, 100, 1e9), undefined)
  t.equal(log.slice(95, 100, 1e9)?.length, 6, 'but for a MiB')
})

t.test('asks the disk to cut only what the disk was asked to write', async (t) => {
  const log = logOf(1, 1, 1)
  t.match(log.takeWrites(), { truncateFrom: null, entries: { length: 3 } })
  log.append(entry(4, 1))
  log.truncate(4)
  log.append(entry(4, 2))
  t.match(log.takeWrites(), { truncateFrom: null, entries: [{ index: 4, term: 2 }] })
  log.truncate(2)
  log.append(entry(2, 3))
  t.match(log.takeWrites(), { truncateFrom: 2, entries: [{ index: 2, term: 3 }] })
  t.notOk(log.hasWrites())
})

t.test('a write that was overtaken by a cut does not count as persisted', async (t) => {
  const log = logOf(1, 1, 1)
  log.takeWrites()
  log.persisted(3, 1)
  t.equal(log.persistedIndex, 3)
  log.truncate(2)
  t.equal(log.persistedIndex, 1)
  log.append(entry(2, 4))
  log.append(entry(3, 4))
  log.persisted(3, 1)
  t.equal(log.persistedIndex, 1)
  log.persisted(3, 4)
  t.equal(log.persistedIndex, 3)
})

t.test('holds its invariants against a plain list under random work', async (t) => {
  const seed = 20_261
  const random = seededRandom(seed)
  const log = logOf()
  let model: Entry[] = []
  let base = { index: 0, term: 0 }
  let term = 1
  for (let step = 0; step < 5_000; step += 1) {
    const last = base.index + model.length
    const kind = randomInteger(random, 0, 10)
    if (kind < 5) {
      if (random.next() < 0.1) term += 1
      log.append(entry(last + 1, term))
      model.push(entry(last + 1, term))
    } else if (kind === 5 && last > log.commitIndex) {
      const from = randomInteger(random, log.commitIndex + 1, last + 1)
      log.truncate(from)
      model = model.filter((one) => one.index < from)
    } else if (kind === 6) {
      log.takeWrites()
      log.persisted(log.lastIndex, log.lastTerm)
    } else if (kind === 7 && last > log.commitIndex) {
      log.commitIndex = randomInteger(random, log.commitIndex, last + 1)
    } else if (kind === 8 && log.commitIndex > base.index) {
      const index = randomInteger(random, base.index + 1, log.commitIndex + 1)
      const at = model.find((one) => one.index === index)
      if (at === undefined || index > log.persistedIndex) continue
      log.compacted(index, at.term)
      model = model.filter((one) => one.index > index)
      base = { index, term: at.term }
    } else {
      log.shrink(randomInteger(random, 0, last + 2), random.next() < 0.5 ? 500 : 1_000_000)
    }
    const ok =
      log.lastIndex === base.index + model.length &&
      log.termAt(base.index) === base.term &&
      log.termAt(log.lastIndex + 1) === undefined &&
      model.every((one) => log.termAt(one.index) === one.term)
    if (!ok) t.fail(`step ${step} of seed ${seed}`)
    const slice = log.slice(base.index + 1, log.lastIndex, 1e9)
    if (slice !== undefined && slice.length !== model.length) t.fail(`slice at step ${step}`)
  }
  t.pass('5,000 steps')
})
