/**
 * Network coordinates: each member places itself so that the distance of two places foretells their round trip, without
 * ever having measured it (Vivaldi: Dabek, Cox, Kaashoek, Morris, 2004; the adjustment and the pull to the origin after
 * Ledlie and others, 2007). The numbers are serf's, or members would not agree on one space.
 *
 * Invariant: whatever others claim, the own coordinate stays finite, and its error within `errorMin` to `errorMax`.
 */
import { assert } from '../../lib/assert.ts'
import type { Random } from '../../lib/random.ts'

export const dimensions = 8
/** Of a newcomer, and the most there is: a relative error of the foretold round trip. */
const errorMax = 1.5
const errorMin = 1e-6
/** How far one observation moves the error and the place. */
const errorGain = 0.25
const placeGain = 0.25
/** Seconds; what lies before the network itself, such as an access line. */
const heightMin = 10e-6
/** Seconds; below that two places are one. */
const distanceMin = 1e-6
const adjustmentWindow = 20
/** The median of so many round trips to one member counts: one late answer is no distance. */
export const roundTripsMax = 3
/** Seconds; a place that far out is pulled back by a whole one, so that the pool does not drift away together. */
const gravityRho = 150
/** No honest answer to a ping takes longer. */
const roundTripSecondsMax = 10
/** Beyond all honest places; what is further out is not believed. */
const placeSecondsMax = 1_000

/** Lengths in seconds. */
export type Coordinate = {
  readonly vector: readonly number[]
  readonly error: number
  readonly adjustment: number
  readonly height: number
}

const origin: Coordinate = {
  vector: Array.from({ length: dimensions }, () => 0),
  error: errorMax,
  adjustment: 0,
  height: heightMin,
}

/** The foretold round trip in seconds. */
export function distanceBetween(one: Coordinate, other: Coordinate): number {
  const raw = rawDistance(one, other)
  const adjusted = raw + one.adjustment + other.adjustment
  return adjusted > 0 ? adjusted : raw
}

/** One that can be taken from a stranger. */
export function isSound({ vector, error, adjustment, height }: Coordinate): boolean {
  const lengths = [...vector, adjustment, height]
  return (
    vector.length === dimensions &&
    lengths.every((length) => Math.abs(length) <= placeSecondsMax) &&
    height >= 0 &&
    error >= 0 &&
    error <= placeSecondsMax
  )
}

/** The own place. */
export class OwnCoordinate {
  readonly #random: Random
  #place = origin
  /** Newest last. */
  readonly #misses: number[] = []

  constructor(random: Random) {
    this.#random = random
  }

  get place(): Coordinate {
    return this.#place
  }

  /**
   * A ping was answered after so many seconds by a member that is there. `roundTrips` are those to it, kept for the next
   * time. False: something about it cannot be, and nothing changed.
   */
  observe(other: Coordinate, seconds: number, roundTrips: number[]): boolean {
    if (!isSound(other) || !(seconds >= 0 && seconds <= roundTripSecondsMax)) return false
    roundTrips.push(seconds)
    if (roundTrips.length > roundTripsMax) roundTrips.shift()
    const sorted = roundTrips.toSorted((one, two) => one - two)
    const roundTrip = Math.max(sorted[Math.floor(sorted.length / 2)] ?? seconds, distanceMin)
    this.#learn(other, roundTrip)
    this.#adjust(other, roundTrip)
    const out = distanceBetween(origin, this.#place)
    this.#push(origin, -((out / gravityRho) ** 2))
    assert(isSound(this.#place), 'the own coordinate is one that others take')
    return true
  }

  /** Moves towards or away from the other as the round trip says, the more the surer the other is of its place. */
  #learn(other: Coordinate, roundTrip: number): void {
    const { error } = this.#place
    const distance = distanceBetween(this.#place, other)
    const wrongness = Math.abs(distance - roundTrip) / roundTrip
    const weight = error / Math.max(error + other.error, errorMin)
    const share = errorGain * weight
    const learnt = share * wrongness + (1 - share) * error
    this.#place = { ...this.#place, error: Math.min(Math.max(learnt, errorMin), errorMax) }
    this.#push(other, placeGain * weight * (roundTrip - distance))
  }

  /** Half of what the places alone get wrong on average; the other side adds its own half. */
  #adjust(other: Coordinate, roundTrip: number): void {
    this.#misses.push(roundTrip - rawDistance(this.#place, other))
    if (this.#misses.length > adjustmentWindow) this.#misses.shift()
    const sum = this.#misses.reduce((all, miss) => all + miss, 0)
    this.#place = { ...this.#place, adjustment: clamped(sum / (2 * adjustmentWindow)) }
  }

  /** By `force` seconds away from the other, or towards it when negative. */
  #push(other: Coordinate, force: number): void {
    const { vector, height } = this.#place
    const apart = vector.map((value, at) => value - (other.vector[at] ?? 0))
    const length = Math.hypot(...apart)
    const isApart = length > distanceMin
    // From the very same place every direction is as good.
    const direction = isApart ? apart.map((value) => value / length) : this.#anyDirection()
    const raised = isApart ? height + ((height + other.height) * force) / length : height
    this.#place = {
      ...this.#place,
      vector: vector.map((value, at) => clamped(value + (direction[at] ?? 0) * force)),
      height: Math.max(clamped(raised), heightMin),
    }
  }

  #anyDirection(): readonly number[] {
    const drawn = Array.from({ length: dimensions }, () => this.#random.next() - 0.5)
    const length = Math.hypot(...drawn)
    if (length > distanceMin) return drawn.map((value) => value / length)
    return drawn.map((_, at) => (at === 0 ? 1 : 0))
  }
}

function rawDistance(one: Coordinate, other: Coordinate): number {
  const apart = one.vector.map((value, at) => value - (other.vector[at] ?? 0))
  return Math.hypot(...apart) + one.height + other.height
}

/** Others in a pool may lie for long: the own place stays one that is believed. */
function clamped(length: number): number {
  return Math.min(Math.max(length, -placeSecondsMax), placeSecondsMax)
}
