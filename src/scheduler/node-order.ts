/**
 * The order in which an evaluation looks at nodes: each once before any again, another order for another seed. Evaluations that run at
 * the same time so look at different nodes first, and seldom want the same place.
 */
import { randomInteger, type Random } from '../lib/random.ts'

export class NodeOrder {
  readonly #count: number
  readonly #step: number
  #at: number

  constructor(count: number, random: Random) {
    this.#count = count
    this.#at = count === 0 ? 0 : randomInteger(random, 0, count)
    this.#step = count <= 2 ? 1 : stepFor(count, random)
  }

  /** The next position; goes on where the last caller stopped. */
  next(): number {
    const at = this.#at
    this.#at = (at + this.#step) % this.#count
    return at
  }
}

/** Without a common divisor, so that the steps come by every position. */
function stepFor(count: number, random: Random): number {
  let step = randomInteger(random, 1, count)
  while (divisor(step, count) !== 1) step = (step % (count - 1)) + 1
  return step
}

function divisor(left: number, right: number): number {
  return right === 0 ? left : divisor(right, left % right)
}
