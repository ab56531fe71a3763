/** Unsigned numbers of 64 bits, as text has them. */

const uint64Max = 2n ** 64n - 1n

/** A base-10 unsigned 64-bit integer without sign or blanks, or undefined. */
export function parseUnsigned(text: string): bigint | undefined {
  if (!/^[0-9]{1,20}$/.test(text)) return undefined
  const value = BigInt(text)
  return value <= uint64Max ? value : undefined
}
