/** UUIDs that follow from what they name: whoever knows that arrives at the same one. */
import { createHash } from 'node:crypto'

/** In hexadecimal digits. The same parts in another order, or cut otherwise, have another one. */
export function sha256OfParts(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Of 32 hexadecimal digits at least. Version 8, variant 10: made by a rule of our own (RFC 9562). */
export function uuidOfHash(hex: string): string {
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-')
}
