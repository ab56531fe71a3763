/**
 * The form that nearly all answers of servers have: a final status, header lines, and a body whose length the head tells. It is
 * recognized as a whole, by one expression; every other answer is left to Node's HTTP parser.
 *
 * The invariant: what is recognized here Node's parser takes for the same answer.
 */

export type PlainHead = {
  readonly status: number
  /** Names and values in turn, as they were written. */
  readonly lines: readonly string[]
  /** Of the head, with the empty line. */
  readonly headBytes: number
  readonly bodyBytes: number
  /** The server keeps the connection for so long when nothing is asked. */
  readonly idleMs: number
}

/** As much as Node takes of a head. */
export const headBytesMax = 16_384
/** The server says how long it keeps a connection. One that does not is believed to do so for this long. */
const idleMsDefault = 30_000
/** The server's time begins earlier than the one here, which begins when its answer has come. */
const idleMarginMs = 1_000

const headPattern =
  /^HTTP\/1\.1 [2-5]\d\d [\t\x20-\x7e\x80-\xff]*(?:\r\n[-!#$%&'*+.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*)*$/
const lengthPattern = /^\d{1,9}$/
const idlePattern = /^timeout=(\d{1,6})$/
/** They have no body, whatever their head says of its length. */
const bodiless: readonly number[] = [204, 205, 304]

/** `text`: the beginning of an answer, a character for each byte. Null: it is of another form, or has no whole head yet. */
export function plainHeadOf(text: string): PlainHead | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0 || end > headBytesMax || !headPattern.test(text.slice(0, end))) return null
  const status = Number(text.slice(9, 12))
  if (bodiless.includes(status)) return null
  const lines: string[] = []
  let bodyBytes = -1
  let idleMs = idleMsDefault
  for (let at = text.indexOf('\r\n') + 2; at < end;) {
    const colon = text.indexOf(':', at)
    const lineEnd = text.indexOf('\r\n', colon)
    const name = text.slice(at, colon)
    const value = trimmed(text, colon + 1, lineEnd)
    at = lineEnd + 2
    lines.push(name, value)
    switch (name.toLowerCase()) {
      case 'content-length':
        if (bodyBytes >= 0 || !lengthPattern.test(value)) return null
        bodyBytes = Number(value)
        break
      case 'connection':
        if (value.toLowerCase() !== 'keep-alive') return null
        break
      case 'keep-alive':
        idleMs = idleMsOf(value)
        break
      case 'transfer-encoding':
      case 'upgrade':
        return null
      default:
    }
  }
  return bodyBytes < 0 ? null : { status, lines, headBytes: end + 4, bodyBytes, idleMs }
}

/** How long nothing may be asked on a connection whose server says this of it, by `keep-alive`. */
export function idleMsOf(value: string | undefined): number {
  const seconds = idlePattern.exec(value ?? '')?.[1]
  return seconds === undefined ? idleMsDefault : Number(seconds) * 1_000 - idleMarginMs
}

/** Without the blanks around it. */
function trimmed(text: string, from: number, to: number): string {
  let [first, last] = [from, to]
  while (first < last && isBlank(text.charCodeAt(first))) first += 1
  while (last > first && isBlank(text.charCodeAt(last - 1))) last -= 1
  return text.slice(first, last)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
