/** The memory of changed keys, beside a list that forgets nothing. */
import t from 'tap'
import fc from '../support/fast-check.ts'
import { RecentChanges } from '../../src/fsm/recent-changes.ts'
import { Touched } from '../../src/fsm/touched.ts'

/** Keys of few letters, so that they meet; of one, two and three bytes in UTF-8. */
const word = fc
  .array(fc.constantFrom('a', 'b', '/', '\x00\x01', 'ä', '語'), { minLength: 1, maxLength: 4 })
  .map((letters) => letters.join(''))

const few = fc.array(word, { maxLength: 3 })
const many = fc.array(word, { minLength: 9, maxLength: 30 })

t.test('what it says is what a list of all changes says, or that it does not know', async (t) => {
  const change = fc.record({
    step: fc.nat(2),
    keys: fc.array(word, { minLength: 1, maxLength: 9 }),
  })
  const question = fc.record({
    keys: fc.oneof(few, many),
    prefixes: few,
    back: fc.nat(60),
  })
  let unknown = 0
  let known = 0
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 40 }),
      fc.array(change, { maxLength: 60 }),
      fc.array(question, { maxLength: 12 }),
      (max, changes, questions) => {
        const recent = new RecentChanges(max, 5)
        const all: { index: number; key: string }[] = []
        let index = 5
        for (const { step, keys } of changes) {
          index += step
          if (index === 5) index = 6
          recent.add(index, keys)
          for (const key of keys) all.push({ index, key })
        }
        // All of these are remembered, whatever the size of the blocks.
        const remembered = all.slice(-Math.floor(max / 2))
        const since = remembered.length === all.length ? 5 : (remembered[0]?.index ?? 5)
        for (const { keys, prefixes, back } of questions) {
          const touched = new Touched()
          for (const key of keys) touched.addKey(key, '')
          for (const prefix of prefixes) touched.addPrefix(prefix)
          const from = Math.max(0, index - back)
          const said = recent.changedSince(from, touched)
          const was = all.some(
            ({ index, key }) =>
              index > from &&
              (keys.includes(key) || prefixes.some((prefix) => key.startsWith(prefix))),
          )
          if (said === 'unknown') {
            unknown += 1
            if (from >= since) return false
          } else {
            known += 1
            if (said !== was) return false
          }
        }
        return true
      },
    ),
    { numRuns: 500 },
  )
  t.ok(unknown > 0 && known > 0, 'both were met')
})

t.test('of very many changes as many as it is to remember, less one block', async (t) => {
  const recent = new RecentChanges(32_768, 0)
  for (let index = 1; index <= 100_000; index += 1) recent.add(index, [`row/${index}`])
  const touching = (key: string): Touched => {
    const touched = new Touched()
    touched.addKey(key, 'row/')
    return touched
  }
  t.equal(recent.changedSince(60_000, touching('row/100000')), 'unknown')
  const from = 100_000 - 32_768 + 512
  t.equal(recent.changedSince(from, touching(`row/${from + 1}`)), true, 'the oldest of them')
  t.equal(recent.changedSince(from + 1, touching(`row/${from + 1}`)), false)
  t.equal(recent.changedSince(from, touching('row/1000')), false, 'not what only begins so')
  recent.forget(100_000)
  t.equal(recent.changedSince(100_000, touching('row/100000')), false)
  t.equal(recent.changedSince(99_999, touching('row/1')), 'unknown')
})

t.test('keys longer than a block', async (t) => {
  const recent = new RecentChanges(8, 0)
  const long = '語'.repeat(50_000)
  for (let index = -40; index < 0; index += 1) recent.add(100 + index, [long + index])
  recent.add(101, ['a'])
  recent.add(102, [long])
  recent.add(103, ['b'])
  const touched = new Touched()
  touched.addKey(long, '')
  t.equal(recent.changedSince(101, touched), true)
  t.equal(recent.changedSince(102, touched), false)
})
