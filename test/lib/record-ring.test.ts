/** Records come out as they went in, by place and by index, whatever went before them. */
import t from 'tap'
import { randomInteger, seededRandom } from '../../src/lib/random.ts'
import { blockRecords, RecordRing } from '../../src/lib/record-ring.ts'
import fc from '../support/fast-check.ts'

type Listed = { readonly index: number; readonly tag: number; readonly text: string }

const step = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      type: fc.constant('append' as const),
      by: fc.integer({ min: 0, max: 2 }),
      tag: fc.integer({ min: 0, max: 65_535 }),
      text: fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.toWellFormed()),
      many: fc.constantFrom(1, 1, blockRecords - 1, blockRecords, 3 * blockRecords),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      type: fc.constant('drop' as const),
      many: fc.constantFrom(1, 5, blockRecords, 2 * blockRecords),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('clear' as const) }) },
)

void t.test('it holds what a list of the same records holds', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const ring = new RecordRing()
      let listed: Listed[] = []
      let index = 0
      let appended = 0
      for (const step of steps) {
        if (step.type === 'clear') {
          ring.clear()
          listed = []
        } else if (step.type === 'drop') {
          for (let left = Math.min(step.many, listed.length); left > 0; left -= 1) ring.takeFirst()
          listed = listed.slice(step.many)
        } else {
          for (let left = step.many; left > 0; left -= 1) {
            index += step.by
            ring.append(index, step.tag, Buffer.from(step.text))
            listed.push({ index, tag: step.tag, text: step.text })
            appended += 1
          }
        }
        t.equal(ring.endPlace, appended)
        t.equal(ring.firstPlace, appended - listed.length)
        for (const [at, record] of listed.entries()) {
          const place = ring.firstPlace + at
          const found = ring.recordAt(place)
          const same =
            found.place === place &&
            ring.indexAt(place) === record.index &&
            found.tag === record.tag &&
            found.bytes.toString() === record.text &&
            found.byteLength === Buffer.byteLength(record.text)
          if (!same) throw new Error(`another record at ${place}`)
        }
        for (const wanted of [0, index - 1, index, index + 1]) {
          const found = listed.findIndex((record) => record.index >= wanted)
          t.equal(ring.placeOf(wanted), found < 0 ? appended : ring.firstPlace + found)
        }
      }
    }),
    { numRuns: 60 },
  )
})

void t.test('a record of any size has room', async (t) => {
  const ring = new RecordRing()
  const sizes = [0, 10, 5_000, 700_000, 1, 70_000]
  for (const [at, size] of sizes.entries()) ring.append(at, at, Buffer.alloc(size, at))
  for (const [at, size] of sizes.entries()) {
    t.ok(ring.recordAt(at).bytes.equals(Buffer.alloc(size, at)), `${size} bytes`)
  }
})

void t.test('its blocks take little more than the bytes of their records', async (t) => {
  const ring = new RecordRing()
  const random = seededRandom(7)
  let used = 0
  for (let at = 0; at < 100 * blockRecords; at += 1) {
    const size = randomInteger(random, 50, at % 3 === 0 ? 1_000 : 200)
    ring.append(at, 0, Buffer.alloc(size))
    used += size
  }
  const blocks = new Set<ArrayBufferLike>()
  for (let at = 0; at < ring.endPlace; at += 1) blocks.add(ring.recordAt(at).bytes.buffer)
  const taken = [...blocks].reduce((total, { byteLength }) => total + byteLength, 0)
  t.ok(taken < 1.25 * used, `${taken} bytes for ${used}`)
})

void t.test('a record that was found stays as it is when it went and others came', async (t) => {
  const ring = new RecordRing()
  ring.append(1, 7, Buffer.from('kept'))
  const found = ring.recordAt(0)
  for (let at = 0; at < 3 * blockRecords; at += 1) {
    ring.takeFirst()
    ring.append(2, 0, Buffer.from('other '.repeat(100)))
  }
  t.equal(found.bytes.toString(), 'kept')
  t.match(found, { tag: 7, place: 0 })
})

void t.test('what is not there any more is not asked for', async (t) => {
  const ring = new RecordRing()
  t.throws(() => ring.takeFirst())
  ring.append(1, 0, Buffer.from('a'))
  ring.takeFirst()
  t.throws(() => ring.indexAt(0))
  t.throws(() => ring.recordAt(1))
})
