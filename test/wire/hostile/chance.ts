/** Hostile input for the RPC port, and how much of it there is: FUZZ_PACKETS says how many inputs. */
import { bytes, integer, pick } from '../../support/fuzz.ts'

export const inputsWanted = Number(process.env['FUZZ_PACKETS'] ?? 4_000)

export function noise(lengthMax: number): Buffer {
  return bytes(integer(0, lengthMax + 1))
}

/** Bytes that mean something to HTTP/2, protobuf or msgpack. */
const tokens = [
  0, 1, 2, 8, 10, 0x12, 0x1a, 0x22, 0x7f, 0x80, 0x90, 0xc1, 0xc7, 0xd4, 0xdd, 0xdf, 0xff,
]

export function mutated(source: Uint8Array): Buffer {
  const copy = Buffer.from(source)
  if (copy.length === 0) return noise(40)
  const at = integer(0, copy.length)
  switch (integer(0, 6)) {
    case 0:
      copy[at] = (copy[at] ?? 0) ^ (1 << integer(0, 8))
      return copy
    case 1:
      copy[at] = pick(tokens)
      return copy
    case 2:
      return copy.subarray(0, at)
    case 3:
      return Buffer.concat([copy.subarray(0, at), noise(20), copy.subarray(at)])
    case 4:
      return Buffer.concat([copy, copy.subarray(at)])
    default:
      for (let index = 0; index < 5; index += 1) copy[integer(0, copy.length)] = pick(tokens)
      return copy
  }
}

/** Numbers at the ends of what fields can hold. */
export function number(): number {
  return pick([0, 1, 2, 3, 5, 100, 2 ** 24, 2 ** 31, 2 ** 32, 2 ** 52, Number.MAX_SAFE_INTEGER])
}
