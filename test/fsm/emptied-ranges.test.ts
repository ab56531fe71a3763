/** Which keys were deleted, by a sample: how much of it is kept, and what comes of it. */
import t from 'tap'
import {
  EmptiedRanges,
  emptiedRowsMin,
  sampledEvery,
  sampleMax,
} from '../../src/fsm/emptied-ranges.ts'

function key(number: number): string {
  return `row ${String(number).padStart(9, '0')}`
}

t.test('ranges follow one another from the first deleted key to the last', (t) => {
  const emptied = new EmptiedRanges()
  const rows = emptiedRowsMin
  t.equal(emptied.due, false)
  // From the last to the first: the order of deletions does not matter.
  for (let number = rows - 1; number >= 0; number -= 1) emptied.note(key(number))
  t.equal(emptied.due, true)
  const ranges = emptied.take()
  for (const [at, { first, last }] of ranges.entries()) {
    t.ok(first < last, `${first} to ${last}`)
    if (at > 0) t.equal(ranges[at - 1]?.last, first)
  }
  t.equal(ranges.at(-1)?.last, key(rows - 1))
  const first = ranges[0]?.first ?? ''
  t.ok(first < key(sampledEvery), first)
  t.equal(emptied.due, false, 'they are forgotten')
  t.same(emptied.take(), [])
  t.end()
})

t.test('few deletions are not worth a compaction', (t) => {
  const emptied = new EmptiedRanges()
  for (let number = 1; number < emptiedRowsMin; number += 1) emptied.note(key(number))
  t.equal(emptied.due, false)
  t.end()
})

t.test('the sample is bounded, and reaches over all that was deleted', (t) => {
  const emptied = new EmptiedRanges()
  const rows = 5 * sampledEvery * sampleMax
  for (let number = 0; number < rows; number += 1) emptied.note(key(number))
  const ranges = emptied.take()
  t.ok(ranges.length <= sampleMax / 16, `${ranges.length} ranges`)
  t.equal(ranges[0]?.first, key(0))
  const last = ranges.at(-1)?.last ?? ''
  t.ok(last > key(Math.floor(rows * 0.99)), last)
  t.end()
})
