/**
 * Whether bytes are msgpack of plain data, looked at before anything is made of them: nothing nested without end, and none
 * of the kinds that the decoder would run code for (records, references, errors, patterns, numbers of any length).
 */

/** What JSON over HTTP may nest is far less. */
const depthMax = 128

/** So many values, each an object or a part of one, take a third of a second to make. */
export const plainValuesMax = 1 << 20

/** Of `undefined`, the one extension that plain data needs. */
const undefinedType = 0

/** Bytes behind the first one of values of fixed length, by that first byte. */
const fixed: ReadonlyMap<number, number> = new Map([
  [0xc0, 0],
  [0xc2, 0],
  [0xc3, 0],
  [0xca, 4],
  [0xcb, 8],
  [0xcc, 1],
  [0xcd, 2],
  [0xce, 4],
  [0xcf, 8],
  [0xd0, 1],
  [0xd1, 2],
  [0xd2, 4],
  [0xd3, 8],
])

/** Bytes of the length that follows the first one: of binary data and of texts. */
const sized: ReadonlyMap<number, 1 | 2 | 4> = new Map([
  [0xc4, 1],
  [0xc5, 2],
  [0xc6, 4],
  [0xd9, 1],
  [0xda, 2],
  [0xdb, 4],
])

/** Bytes of the count that follows the first one, and values per count. */
const counted: ReadonlyMap<number, { readonly bytes: 2 | 4; readonly values: 1 | 2 }> = new Map([
  [0xdc, { bytes: 2, values: 1 }],
  [0xdd, { bytes: 4, values: 1 }],
  [0xde, { bytes: 2, values: 2 }],
  [0xdf, { bytes: 4, values: 2 }],
])

/** True for exactly one value, up to the end of the bytes. */
export function isPlainValue(source: Uint8Array): boolean {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength)
  /** Values that are still to come, from the outermost list or map to the innermost. */
  const open = [1]
  let at = 0
  let count = 0
  for (;;) {
    while (open.at(-1) === 0) open.pop()
    const level = open.length - 1
    if (level < 0) return at === bytes.length
    const head = readHead(bytes, at)
    if (head === null || level > depthMax) return false
    at += head.bytes
    count += 1
    if (count > plainValuesMax) return false
    // Every value takes a byte at least.
    if (at + head.values > bytes.length) return false
    open[level] = (open[level] ?? 1) - 1
    if (head.values > 0) open.push(head.values)
  }
}

/** What one value takes without those inside it, and how many these are. */
type Head = { readonly bytes: number; readonly values: number }

function readHead(bytes: Buffer, at: number): Head | null {
  const first = bytes[at]
  if (first === undefined) return null
  if (first < 0x80 || first >= 0xe0) return { bytes: 1, values: 0 }
  if (first < 0x90) return { bytes: 1, values: (first & 15) * 2 }
  if (first < 0xa0) return { bytes: 1, values: first & 15 }
  if (first < 0xc0) return { bytes: 1 + (first & 31), values: 0 }
  const fixedBytes = fixed.get(first)
  if (fixedBytes !== undefined) return { bytes: 1 + fixedBytes, values: 0 }
  const lengthBytes = sized.get(first)
  if (lengthBytes !== undefined) {
    const length = readCount(bytes, at + 1, lengthBytes)
    return length === null ? null : { bytes: 1 + lengthBytes + length, values: 0 }
  }
  const list = counted.get(first)
  if (list !== undefined) {
    const count = readCount(bytes, at + 1, list.bytes)
    return count === null ? null : { bytes: 1 + list.bytes, values: count * list.values }
  }
  const isUndefined = first === 0xd4 && bytes[at + 1] === undefinedType
  return isUndefined ? { bytes: 3, values: 0 } : null
}

function readCount(bytes: Buffer, at: number, length: 1 | 2 | 4): number | null {
  return at + length > bytes.length ? null : bytes.readUIntBE(at, length)
}
