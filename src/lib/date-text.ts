/** The last moment that RFC 3339 can write, for its years have four digits: the end of 9999. */
const lastMs = 253_402_300_799_999

/** RFC 3339, in UTC, to the millisecond. A later moment is shown as the last one that can be written. */
export function dateText(ms: number): string {
  return new Date(Math.min(ms, lastMs)).toISOString()
}

/**
 * Nanoseconds of milliseconds, for output. The number itself is beyond 2^53 and rounded, but it prints as exactly
 * the milliseconds and six zeros: no other decimal of up to 15 significant digits rounds to the same double.
 */
export function nanoseconds(milliseconds: number): number {
  return milliseconds * 1e6
}

/** As texts say them, for comparisons. */
export function exactNanoseconds(milliseconds: number): bigint {
  return BigInt(milliseconds) * 1_000_000n
}
