/** The last moment that RFC 3339 can write, for its years have four digits: the end of 9999. */
const lastMs = 253_402_300_799_999

/** RFC 3339, in UTC, to the millisecond. A later moment is shown as the last one that can be written. */
export function dateText(ms: number): string {
  return new Date(Math.min(ms, lastMs)).toISOString()
}
