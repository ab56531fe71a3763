/** UUIDs that follow from what they name: whoever knows that arrives at the same one. */
import { createHash } from 'node:crypto'

/** In hexadecimal digits. The same parts in another order, or cut otherwise, have another one. */
export function sha256OfParts(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Of 32 hexadecimal digits at least. Version 8: made by a rule of our own (RFC 9562). */
export function uuidOfHash(hex: string): string {
  return uuidOf(hex, '8')
}

/** Of 32 random hexadecimal digits. Version 4. */
export function uuidOfRandom(hex: string): string {
  return uuidOf(hex, '4')
}

/** Variant 10. */
function uuidOf(hex: string, version: string): string {
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16)
  const front = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}${hex.slice(13, 16)}`
  return `${front}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
