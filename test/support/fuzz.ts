/** Seeded randomness for hostile input: FUZZ_SEED repeats a run. One stream of draws for each test file, which is a process. */
import { randomInteger, seededRandom } from '../../src/lib/random.ts'
import { seed } from './randomness.ts'
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

/** At most so many bytes. */
export function noise(lengthMax: number): Buffer {
  return bytes(integer(0, lengthMax + 1))
}

/** Bytes that mean something to HTTP/2, protobuf, msgpack, or a layer of gossip. */
const tokens = [
  0, 1, 2, 7, 8, 9, 10, 12, 0x12, 0x1a, 0x22, 0x7f, 0x80, 0x8f, 0x90, 0xa0, 0xc0, 0xc1, 0xc7, 0xcf,
  0xd4, 0xdb, 0xdd, 0xdf, 0xf4, 0xff,
]

/** Good bytes, made bad in one of several ways; `others`: what may follow their front. */
export function mutated(source: Uint8Array, others: readonly Uint8Array[] = [source]): Buffer {
  const copy = Buffer.from(source)
  if (copy.length === 0) return noise(40)
  const at = integer(0, copy.length)
  switch (integer(0, 8)) {
    case 0:
      copy[at] = (copy[at] ?? 0) ^ (1 << integer(0, 8))
      return copy
    case 1:
      copy[at] = pick(tokens)
      return copy
    case 2:
      return copy.subarray(0, at)
    case 3:
      return copy.subarray(at)
    case 4:
      return Buffer.concat([copy.subarray(0, at), noise(20), copy.subarray(at)])
    case 5:
      return Buffer.concat([copy, copy.subarray(at)])
    case 6: {
      const other = pick(others)
      return Buffer.concat([copy.subarray(0, at), other.subarray(integer(0, other.length + 1))])
    }
    default:
      for (let index = 0; index < 5; index += 1) copy[integer(0, copy.length)] = pick(tokens)
      return copy
  }
}
