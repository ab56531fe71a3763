/** The checksum of LevelDB's files. */

/** CRC-32C (Castagnoli), reflected polynomial. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f6_3b78 : crc >>> 1
  return crc
})

/** The checksum as LevelDB stores it: rotated and offset, so that a checksum of checksummed data stays a good one. */
export function maskedCrc32c(bytes: Buffer, from: number, to: number): number {
  let crc = 0xffff_ffff
  for (let position = from; position < to; position += 1) {
    crc = (crc >>> 8) ^ (crcTable[(crc ^ (bytes[position] as number)) & 255] as number)
  }
  crc = ~crc >>> 0
  return (((crc >>> 15) | (crc << 17)) + 0xa282_ead8) >>> 0
}
