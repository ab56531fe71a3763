/** Places that foretell round trips, and what liars cannot do to them. */
import t from 'tap'
import {
  dimensions,
  distanceBetween,
  isSound,
  OwnCoordinate,
  roundTripsMax,
  type Coordinate,
} from '../../../src/gossip/core/coordinate.ts'
import { randomInteger, seededRandom } from '../../../src/lib/random.ts'
import { simCodec } from '../sim/codec.ts'
import { addressOf, Lab } from './lab.ts'

const seed = Number(process.env['SEED'] ?? 1)

const there: Coordinate = {
  vector: Array.from({ length: dimensions }, (_, at) => at / 1_000),
  error: 0.2,
  adjustment: 0,
  height: 0.001,
}

/** The median of relative errors over all pairs, after each looked at others so many times. */
function medianError(members: number, looks: number): number {
  const random = seededRandom(seed)
  // Up to 140 ms apart on a map, and up to 5 ms of access line each.
  const sites = Array.from({ length: members }, () => ({
    x: random.next() * 0.1,
    y: random.next() * 0.1,
    line: random.next() * 0.005,
  }))
  const places = sites.map(() => new OwnCoordinate(random))
  const roundTrips = sites.map(() => sites.map((): number[] => []))
  const between = (one: number, other: number): number => {
    const [a, b] = [sites[one], sites[other]]
    if (a === undefined || b === undefined) return 0
    return Math.hypot(a.x - b.x, a.y - b.y) + a.line + b.line
  }
  for (let look = 0; look < looks * members; look += 1) {
    const one = look % members
    const other = (one + randomInteger(random, 1, members)) % members
    const seconds = between(one, other) * (1 + random.next() * 0.05)
    const place = places[other]?.place ?? there
    places[one]?.observe(place, seconds, roundTrips[one]?.[other] ?? [])
  }
  const errors: number[] = []
  for (const [one, own] of places.entries()) {
    for (const [other, { place }] of places.entries()) {
      if (one === other) continue
      const real = between(one, other)
      errors.push(Math.abs(distanceBetween(own.place, place) - real) / real)
    }
  }
  return errors.sort((a, b) => a - b)[errors.length >> 1] ?? Infinity
}

void t.test(`places foretell round trips (seed ${seed})`, (t) => {
  const [early, late] = [medianError(20, 20), medianError(20, 400)]
  t.comment(
    `median error ${(early * 100).toFixed(1)} % after 20 looks, ${(late * 100).toFixed(1)} % after 400`,
  )
  t.ok(late < 0.1)
  t.end()
})

void t.test('what cannot be is refused, and nothing changes', (t) => {
  const own = new OwnCoordinate(seededRandom(seed))
  const before = own.place
  const refused: readonly (readonly [Coordinate, number])[] = [
    [{ ...there, vector: [1, 2, 3] }, 0.1],
    [{ ...there, vector: there.vector.map(() => NaN) }, 0.1],
    [{ ...there, vector: there.vector.map(() => 1e300) }, 0.1],
    [{ ...there, height: -1 }, 0.1],
    [{ ...there, error: Infinity }, 0.1],
    [{ ...there, adjustment: NaN }, 0.1],
    [there, -1],
    [there, NaN],
    [there, 11],
  ]
  const roundTrips: number[] = []
  for (const [place, seconds] of refused) t.notOk(own.observe(place, seconds, roundTrips))
  t.equal(own.place, before)
  t.same(roundTrips, [])
  t.end()
})

void t.test('a liar moves nobody out of what others believe', (t) => {
  const random = seededRandom(seed)
  const own = new OwnCoordinate(random)
  const roundTrips: number[] = []
  for (let lie = 0; lie < 20_000; lie += 1) {
    const place = {
      vector: there.vector.map(() => (random.next() - 0.5) * 2_000),
      error: random.next() * 1e-9,
      adjustment: (random.next() - 0.5) * 2_000,
      height: random.next() * 1_000,
    }
    own.observe(place, random.next() * 10, roundTrips)
  }
  t.ok(isSound(own.place))
  t.equal(roundTrips.length, roundTripsMax)
  t.end()
})

/** What `me` answers to a ping of that member. */
function pinged(lab: Lab, name: string): Uint8Array | null {
  lab.forget()
  const source = { endpoint: addressOf(name), node: name }
  lab.hear({ type: 'ping', sequence: 1, node: 'me', source })
  return lab.sent('ack')[0]?.payload ?? null
}

/** The next ping to `name` is answered with that coordinate, 20 ms later. */
function answers(lab: Lab, name: string, place: Coordinate): void {
  lab.forget()
  const sequence = lab.untilPinged(name)
  lab.now += 20
  lab.hear({ type: 'ack', sequence, payload: simCodec.encodeCoordinate(place) }, addressOf(name))
}

void t.test('every answer to a ping carries the own coordinate', (t) => {
  const lab = Lab.with(['a', 'b'])
  for (const name of ['a', 'b']) {
    const payload = pinged(lab, name)
    t.ok(payload !== null && isSound(simCodec.decodeCoordinate(payload) ?? { ...there, error: -1 }))
  }
  t.end()
})

void t.test('the coordinates of members that are there are known, the own one among them', (t) => {
  const lab = Lab.with(['a', 'b'])
  t.same([...lab.core.coordinates().keys()], ['me'], 'the others have not answered yet')
  answers(lab, 'a', there)
  t.same(new Set(lab.core.coordinates().keys()), new Set(['me', 'a']))
  t.match(lab.core.coordinates().get('a'), { ...there })
  t.ok(isSound(lab.core.coordinates().get('me') ?? { ...there, error: -1 }))
  lab.hear({ type: 'dead', incarnation: 1, node: 'a', from: 'b' })
  t.same([...lab.core.coordinates().keys()], ['me'], 'a dead member has no place')
  t.end()
})

void t.test("a lying member's coordinate is counted and not kept", (t) => {
  const lab = Lab.with(['a', 'b'])
  answers(lab, 'a', there)
  const own = lab.core.coordinates().get('me')
  const lies: readonly Coordinate[] = [
    { ...there, vector: there.vector.map(() => NaN) },
    { ...there, vector: there.vector.slice(1) },
    { ...there, vector: there.vector.map(() => 1e300) },
    { ...there, height: -1 },
    { ...there, error: Infinity },
    { ...there, adjustment: -1e9 },
  ]
  for (const lie of lies) answers(lab, 'a', lie)
  t.equal(lab.core.counters.coordinatesInvalid, lies.length)
  t.match(lab.core.coordinates().get('a'), { ...there }, 'its last believable word stands')
  t.equal(lab.core.coordinates().get('me'), own, 'and nobody moved by the lies')
  t.end()
})
