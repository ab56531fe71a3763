import t from 'tap'
import { decodeCoordinate, encodeCoordinate } from '../../../src/gossip/wire/coordinate.ts'
import { randomInteger, seededRandom } from '../../../src/lib/random.ts'

const seed = Number(process.env['SEED'] ?? 1)
const coordinate = {
  vector: [0.5, -0.25, 0, 1e-9, 3, 4, 5, 6],
  error: 1.5,
  adjustment: -0.001,
  height: 0.00001,
}

void t.test('a coordinate comes back as it went', (t) => {
  t.same(decodeCoordinate(encodeCoordinate(coordinate)), coordinate)
  t.end()
})

void t.test(`anything else is none (seed ${seed})`, (t) => {
  const bytes = encodeCoordinate(coordinate)
  t.equal(decodeCoordinate(new Uint8Array()), null)
  t.equal(decodeCoordinate(Uint8Array.of(1)), null)
  t.equal(decodeCoordinate(Uint8Array.of(2, ...bytes.subarray(1))), null)
  t.equal(decodeCoordinate(bytes.subarray(0, 40)), null)
  const random = seededRandom(seed)
  for (let run = 0; run < 5_000; run += 1) {
    const mutated = bytes.slice(0, randomInteger(random, 0, bytes.length + 1))
    for (let flips = 0; flips < 3; flips += 1) {
      mutated[randomInteger(random, 0, mutated.length)] = randomInteger(random, 0, 256)
    }
    decodeCoordinate(mutated)
  }
  t.pass('and breaks nothing')
  t.end()
})
