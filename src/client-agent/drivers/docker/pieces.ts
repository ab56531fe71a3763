/** What the daemon tells of output: pieces of lines, each with its time before it. */
import type { Frame, Stream } from './frames.ts'

/** Of a time, with the blank behind it. */
export const timeLengthMax = 40

export type Piece = {
  readonly stream: Stream
  /** Null: it has no time. */
  readonly atNs: bigint | null
  readonly data: Buffer
}

export function pieceOf({ stream, data }: Frame): Piece {
  const timed = timedAt(data, 0)
  if (timed === null) return { stream, atNs: null, data }
  return { stream, atNs: timed.atNs, data: data.subarray(timed.length) }
}

/** The time that begins at a place, and its length with the blank behind it. Null: there is none. */
export function timedAt(
  bytes: Buffer,
  at: number,
): { readonly atNs: bigint; readonly length: number } | null {
  // `2026-01-02T03`
  if (bytes[at + 4] !== 0x2d || bytes[at + 10] !== 0x54) return null
  const text = bytes.subarray(at, at + timeLengthMax).toString('latin1')
  const blank = text.indexOf(' ')
  const atNs = blank < 0 ? null : nsOf(text.slice(0, blank))
  return atNs === null ? null : { atNs, length: blank + 1 }
}

/** Of a time such as `2026-01-02T03:04:05.678901234Z`; null: it is none. */
export function nsOf(text: string): bigint | null {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text)
  if (match === null) return null
  const [, seconds = '', fraction = '', zone = ''] = match
  const ms = Date.parse(`${seconds}${zone}`)
  return Number.isNaN(ms) ? null : BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}
