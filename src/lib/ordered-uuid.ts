/**
 * UUIDs whose text sorts by the time at which they were made (RFC 9562, version 7): 48 bits of Unix milliseconds, then 74
 * random ones. Rows under such keys are written side by side, where those under wholly random ones each touch another
 * part of every table file.
 */
import { randomUUID } from 'node:crypto'

const msMax = 2 ** 48 - 1

/** The front of the last one, for many are made in one millisecond. */
let front = { ms: -1, text: '' }

export function orderedUuid(wallMs: number): string {
  const ms = Math.min(msMax, Math.max(0, Math.floor(wallMs)))
  if (ms !== front.ms) {
    const digits = ms.toString(16).padStart(12, '0')
    front = { ms, text: `${digits.slice(0, 8)}-${digits.slice(8)}-7` }
  }
  // A random UUID has its version in place 14 and its variant in place 19, as this one has.
  return front.text + randomUUID().slice(15)
}
