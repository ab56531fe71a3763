/** As much of POSIX tar (ustar) as an archive of a few plain files needs. */

const blockBytes = 512
const checksumAt = 148
const checksumBytes = 8

export type TarEntry = { readonly name: string; readonly bytes: number }

/** Two empty blocks end a tar. */
export const tarEnd: Uint8Array = new Uint8Array(2 * blockBytes)

/** Names of up to 100 characters, sizes of up to 8 GiB in octal and beyond that in base 256. */
export function tarHeader({
  name,
  bytes,
  modifiedMs,
}: TarEntry & { readonly modifiedMs: number }): Uint8Array {
  const block = Buffer.alloc(blockBytes)
  block.write(name, 0, 100, 'latin1')
  block.write('0000600\0', 100, 'latin1')
  block.write('0000000\0', 108, 'latin1')
  block.write('0000000\0', 116, 'latin1')
  writeSize(block, bytes)
  block.write(`${octal(Math.floor(modifiedMs / 1_000), 11)}\0`, 136, 'latin1')
  block.write('0', 156, 'latin1')
  block.write('ustar\x0000', 257, 'latin1')
  block.write(`${octal(checksumOf(block), 6)}\0 `, checksumAt, 'latin1')
  return block
}

/** After so many bytes of a file. */
export function tarPadding(bytes: number): Uint8Array {
  return new Uint8Array((blockBytes - (bytes % blockBytes)) % blockBytes)
}

/** Null for a block that is no header of a plain file. */
export function readTarHeader(block: Buffer): TarEntry | null {
  const checksum = parseOctal(block, checksumAt, checksumBytes)
  if (checksum === null || checksum !== checksumOf(block)) return null
  const type = block[156] ?? 0
  if (type !== 0x30 && type !== 0) return null
  const bytes = readSize(block)
  const name = block.toString('latin1', 0, 100).replace(/\0.*$/s, '')
  return bytes === null ? null : { name, bytes }
}

function checksumOf(block: Buffer): number {
  let sum = 0
  for (const [at, byte] of block.entries()) {
    sum += at >= checksumAt && at < checksumAt + checksumBytes ? 0x20 : byte
  }
  return sum
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

function writeSize(block: Buffer, bytes: number): void {
  if (bytes < 8 ** 11) {
    block.write(`${octal(bytes, 11)}\0`, 124, 'latin1')
    return
  }
  block.writeUInt8(0x80, 124)
  block.writeBigUInt64BE(BigInt(bytes), 128)
}

function readSize(block: Buffer): number | null {
  if (((block[124] ?? 0) & 0x80) === 0) return parseOctal(block, 124, 12)
  const size = block.readBigUInt64BE(128)
  return size <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(size) : null
}

function parseOctal(block: Buffer, at: number, length: number): number | null {
  const text = block
    .toString('latin1', at, at + length)
    .replace(/[\0 ]+$/, '')
    .trim()
  return /^[0-7]{1,11}$/.test(text) ? Number.parseInt(text, 8) : null
}
