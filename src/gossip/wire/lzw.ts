/**
 * LZW as memberlist uses it: least significant bit first, 8-bit literals, codes of 9 to 12 bits.
 *
 * A clear code comes first, and again when the table is full. The width grows when the next free code equals 2^width;
 * the variant that grows one code earlier reads short messages alike and breaks beyond about 250 bytes.
 */
const clearCode = 256
const endCode = 257
const widthMin = 9
const widthMax = 12
const tableSize = 2 ** widthMax
const noCode = -1
/** Of the encoder's table: four times what it holds, so that probes stay short. */
const slots = 2 ** 14

/** The bytes of `input` compressed, end code included. They may be up to half as many again as went in. */
export function compress(input: Uint8Array): Uint8Array {
  const out = new BitWriter(input.length)
  const table = new CodeTable()
  let width = widthMin
  /** The code that the last one written would define; the decoder is always one behind. */
  let highest = endCode
  let code = noCode
  out.write(clearCode, width)

  /** True when the table was full and begins anew. */
  const grow = (): boolean => {
    highest += 1
    if (highest === 2 ** width) width += 1
    // The last code is given up, so that the width never has to reach 13.
    if (highest < tableSize - 1) return false
    out.write(clearCode, width)
    width = widthMin
    highest = endCode
    table.clear()
    return true
  }

  for (const literal of input) {
    if (code === noCode) {
      code = literal
      continue
    }
    const known = table.find(code, literal)
    if (known !== noCode) {
      code = known
      continue
    }
    out.write(code, width)
    const prefix = code
    code = literal
    if (!grow()) table.add(prefix, literal, highest)
  }
  if (code !== noCode) {
    out.write(code, width)
    grow()
  }
  out.write(endCode, width)
  return out.finish()
}

/**
 * The bytes that were compressed. Null when the codes make no sense or end without the end code, `too-large` when more
 * than `bytesMax` bytes would come out.
 */
export function decompress(input: Uint8Array, bytesMax: number): Uint8Array | 'too-large' | null {
  // The text of a code from 258 on is the text of `prefixes` and then the byte `suffixes`; `lengths` counts its bytes.
  const prefixes = new Uint16Array(tableSize)
  const suffixes = new Uint8Array(tableSize)
  const lengths = new Uint16Array(tableSize).fill(1, 0, clearCode)
  let output: Uint8Array = new Uint8Array(Math.min(bytesMax, input.length * 4))
  let length = 0

  let bits = 0
  let bitCount = 0
  let at = 0
  let width = widthMin
  let highest = endCode
  let last = noCode

  for (;;) {
    while (bitCount < width) {
      const byte = input[at++]
      if (byte === undefined) return null
      bits |= byte << bitCount
      bitCount += 8
    }
    const code = bits & (2 ** width - 1)
    bits >>>= width
    bitCount -= width

    if (code === endCode) return output.subarray(0, length)
    if (code === clearCode) {
      width = widthMin
      highest = endCode
      last = noCode
      continue
    }
    // A code not yet defined can only be the next one: the text of the last code and its first byte again.
    const repeats = code === highest && last !== noCode
    if (code > highest || (code === highest && !repeats && code !== tableSize - 1)) return null
    const source = repeats ? last : code
    const sourceLength = lengths[source] ?? 0
    const count = repeats ? sourceLength + 1 : sourceLength
    if (count === 0) return null
    if (length + count > bytesMax) return 'too-large'
    if (length + count > output.length) {
      const grown = new Uint8Array(Math.min(bytesMax, (length + count) * 2))
      grown.set(output.subarray(0, length))
      output = grown
    }

    // The text comes backwards, from its last byte to its first.
    let walk = source
    for (let position = length + sourceLength - 1; position > length; position--) {
      output[position] = suffixes[walk] ?? 0
      walk = prefixes[walk] ?? 0
    }
    output[length] = walk
    if (repeats) output[length + count - 1] = walk
    length += count

    if (last !== noCode) {
      prefixes[highest] = last
      suffixes[highest] = walk
      lengths[highest] = (lengths[last] ?? 0) + 1
    }
    last = code
    highest += 1
    if (highest < 2 ** width) continue
    if (width < widthMax) {
      width += 1
    } else {
      // Full: codes are read as they stand until the other side clears the table.
      last = noCode
      highest -= 1
    }
  }
}

/** From a code and the byte after it to the code of both. Open addressing; at most 3,837 entries of 16,384. */
class CodeTable {
  readonly #keys = new Int32Array(slots).fill(noCode)
  readonly #codes = new Uint16Array(slots)

  find(prefix: number, literal: number): number {
    const slot = this.#slot(prefix, literal)
    return this.#keys[slot] === noCode ? noCode : (this.#codes[slot] ?? noCode)
  }

  add(prefix: number, literal: number, code: number): void {
    const slot = this.#slot(prefix, literal)
    this.#keys[slot] = (prefix << 8) | literal
    this.#codes[slot] = code
  }

  clear(): void {
    this.#keys.fill(noCode)
  }

  #slot(prefix: number, literal: number): number {
    const key = (prefix << 8) | literal
    let slot = ((key >>> 12) ^ key) & (slots - 1)
    while (this.#keys[slot] !== noCode && this.#keys[slot] !== key) slot = (slot + 1) & (slots - 1)
    return slot
  }
}

class BitWriter {
  #bytes: Uint8Array
  #length = 0
  #bits = 0
  #count = 0

  constructor(inputBytes: number) {
    // Twelve bits for each byte and a clear code for every full table, at the worst.
    this.#bytes = new Uint8Array(Math.ceil(inputBytes * 1.5) + Math.ceil(inputBytes / 1024) + 8)
  }

  write(code: number, width: number): void {
    this.#bits |= code << this.#count
    this.#count += width
    while (this.#count >= 8) {
      this.#bytes[this.#length++] = this.#bits & 0xff
      this.#bits >>>= 8
      this.#count -= 8
    }
  }

  finish(): Uint8Array {
    if (this.#count > 0) this.#bytes[this.#length++] = this.#bits & 0xff
    return this.#bytes.subarray(0, this.#length)
  }
}
