/** Draws from a seed. Each part of the world has its own stream, so that one more draw here changes nothing there. */
import { present } from '../../src/lib/assert.ts'
import { seededRandom, type Random } from '../../src/lib/random.ts'

/** A stream of its own for `purpose`. */
export function streamOf(seed: number, purpose: string): Random {
  let mixed = (seed ^ 0x9e3779b9) >>> 0
  for (const character of purpose) {
    mixed = Math.imul(mixed ^ character.charCodeAt(0), 0x01000193) >>> 0
  }
  const random = seededRandom(mixed)
  random.next()
  return random
}

export function between(random: Random, low: number, high: number): number {
  return low + random.next() * (high - low)
}

/** Between `low` and `high`, each order of magnitude as likely as the next. */
export function spread(random: Random, low: number, high: number): number {
  return low * (high / low) ** random.next()
}

/** An integer in [low, high]. */
export function integer(random: Random, low: number, high: number): number {
  return low + Math.floor(random.next() * (high - low + 1))
}

export function happens(random: Random, probability: number): boolean {
  return random.next() < probability
}

export function pick<T>(random: Random, list: readonly T[]): T {
  return present(list[Math.floor(random.next() * list.length)], 'something to pick')
}

/** In a random order; the list itself stays as it is. */
export function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const result = [...list]
  for (let i = result.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random.next() * (i + 1))
    const held = present(result[i], 'i')
    result[i] = present(result[j], 'j')
    result[j] = held
  }
  return result
}

/** One of the names, by weight. */
export function weighted<Name extends string>(
  random: Random,
  weights: Readonly<Record<Name, number>>,
): Name {
  const names = Object.keys(weights) as Name[]
  const total = names.reduce((sum, name) => sum + weights[name], 0)
  let left = random.next() * total
  for (const name of names) {
    left -= weights[name]
    if (left < 0) return name
  }
  return present(names.at(-1), 'a name')
}
