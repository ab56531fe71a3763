/** Seeded chance for hostile input: FUZZ_SEED repeats a run. One stream of draws for each test file, which is a process. */
import { randomInteger, seededRandom } from '../../src/lib/random.ts'

export const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000)
export const random = seededRandom(seed)

/** From `low`, below `high`. */
export function integer(low: number, high: number): number {
  return randomInteger(random, low, high)
}

export function pick<T>(from: readonly T[]): T {
  const one = from[integer(0, from.length)]
  if (one === undefined) throw new Error('nothing to pick from')
  return one
}

export function bytes(length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, () => integer(0, 256)))
}
