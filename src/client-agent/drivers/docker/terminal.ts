/**
 * The output of a container with a terminal: one stream without frames. Each line has its time before it. The daemon keeps a long
 * line as pieces and tells them one behind the other, each with its time, and with no newline between them.
 */
import { timedAt, timeLengthMax, type Piece } from './pieces.ts'

/** Of a line: what the daemon keeps as one piece. */
const pieceBytes = 16 * 1024
/** What has no newline and no such pieces is taken in parts. */
const partBytesMax = 64 * 1024
/** In the place of each byte that is no UTF-8 the daemon keeps this, so that its piece becomes longer. */
const replacement = Buffer.from('\ufffd')
const newline = 0x0a

export class Terminal {
  #rest: Buffer = Buffer.alloc(0)
  /** Of the line whose next part is awaited; undefined: none is. */
  #partOf: bigint | null | undefined = undefined

  /** Those that are whole now. */
  take(chunk: Buffer): readonly Piece[] {
    return this.#taken(Buffer.concat([this.#rest, chunk]), false)
  }

  /** At the end. */
  rest(): readonly Piece[] {
    return this.#taken(this.#rest, true)
  }

  #taken(bytes: Buffer, isLast: boolean): Piece[] {
    const pieces: Piece[] = []
    let rest = bytes
    while (rest.length > 0) {
      const timed = this.#partOf === undefined ? timedAt(rest, 0) : null
      const text = rest.subarray(timed?.length ?? 0)
      const length = lengthOf(text, timed !== null, isLast)
      if (length === null) break
      const atNs = timed?.atNs ?? this.#partOf ?? null
      const data = text.subarray(0, length)
      pieces.push({ stream: 'stdout', atNs, data })
      rest = text.subarray(length)
      const isPart = length === partBytesMax && data.at(-1) !== newline
      this.#partOf = isPart ? atNs : undefined
    }
    this.#rest = rest
    return pieces
  }
}

/** Of the piece that the text begins with. Null: more of it has to be known. */
function lengthOf(text: Buffer, isTimed: boolean, isLast: boolean): number | null {
  const end = text.indexOf(newline)
  const line = end < 0 ? text : text.subarray(0, end + 1)
  const isWhole = end >= 0 || isLast
  if (isTimed) {
    const [from, to] = endsOf(line)
    for (let at = from; at <= to; at += 1) if (timedAt(line, at) !== null) return at
    // A time may begin there.
    if (!isWhole && line.length < to + timeLengthMax) return null
  }
  if (line.length > partBytesMax) return partBytesMax
  return isWhole ? line.length : null
}

/** Where a piece of the daemon's may end in a line that goes on: the first place and the last. */
function endsOf(line: Buffer): readonly [number, number] {
  let last = pieceBytes
  let at = line.indexOf(replacement)
  while (at >= 0 && at < last) {
    last += replacement.length - 1
    at = line.indexOf(replacement, at + replacement.length)
  }
  return [pieceBytes, last]
}
