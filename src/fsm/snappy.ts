/** Decompresses Snappy's raw format, in which LevelDB stores blocks that get smaller by it. */

/** Of what a block may claim to become. */
const bytesMax = 256 * 1024 * 1024

/** Null when `input` is not of that format. */
export function unsnappy(input: Buffer): Buffer | null {
  const length = varintAt(input, 0)
  if (length === null || length.value > bytesMax) return null
  const output = Buffer.alloc(length.value)
  let from = length.end
  let to = 0
  while (from < input.byteLength) {
    const tag = input[from] as number
    const kind = tag & 3
    from += 1
    if (kind === 0) {
      let bytes = tag >> 2
      if (bytes >= 60) {
        const width = bytes - 59
        if (from + width > input.byteLength) return null
        bytes = input.readUIntLE(from, width)
        from += width
      }
      bytes += 1
      if (from + bytes > input.byteLength || to + bytes > output.byteLength) return null
      input.copy(output, to, from, from + bytes)
      from += bytes
      to += bytes
      continue
    }
    const width = kind === 3 ? 4 : kind
    if (from + width > input.byteLength) return null
    const bytes = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1
    const back =
      kind === 1 ? ((tag >> 5) << 8) | (input[from] as number) : input.readUIntLE(from, width)
    from += width
    if (back === 0 || back > to || to + bytes > output.byteLength) return null
    // Byte by byte: it may reach into what it makes.
    for (const end = to + bytes; to < end; to += 1) output[to] = output[to - back] as number
  }
  return to === output.byteLength ? output : null
}

/** A varint and the place after it. Null when it does not end, or is larger than any file. */
export function varintAt(bytes: Buffer, at: number): { value: number; end: number } | null {
  let value = 0
  let scale = 1
  for (let end = at; end < Math.min(bytes.byteLength, at + 8); end += 1, scale *= 128) {
    const byte = bytes[end] as number
    value += (byte & 127) * scale
    if (byte < 128) return Number.isSafeInteger(value) ? { value, end: end + 1 } : null
  }
  return null
}
