/** Randomness is passed in, so that a seed replays a run exactly. */
export type Random = {
  /** A number in [0, 1). */
  next(): number
}

/** mulberry32: small, fast, good enough to spread timeouts and to drive the simulator. Never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = Math.imul(state ^ (state >>> 15), state | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
    },
  }
}

export const systemRandom: Random = { next: () => Math.random() }

/** An integer in [low, high). */
export function randomInteger(random: Random, low: number, high: number): number {
  return low + Math.floor(random.next() * (high - low))
}
