/** Ids of nodes, evaluations and allocations as clients write them: whole, or the front of one in lists. */
import { MusterError } from '../../lib/errors.ts'

const uuidLength = 36

/** Throws `invalid_argument` for what is no whole id; any letter case reads. `what`: `node`. */
export function checkWholeId(what: string, id: string): string {
  if (id.length === uuidLength) return id.toLowerCase()
  const text = `${what} ID must be the whole UUID, of ${uuidLength} characters; this has ${id.length}`
  throw new MusterError('invalid_argument', text)
}

/** Where dashes stand between the digits of an id. */
const dashesAfter = [8, 12, 16, 20]

/**
 * Of the ids in a list, as they are kept: clients write capitals, and leave the dashes out. Throws `invalid_argument` as Nomad does, for its
 * tools shorten ids to an even number.
 */
export function checkIdPrefix(prefix: string): string {
  const digits = prefix.replaceAll('-', '').toLowerCase()
  if (!/^[0-9a-f]*$/.test(digits)) {
    throw new MusterError(
      'invalid_argument',
      'prefix must be hexadecimal: 0 to 9, a to f, and dashes',
    )
  }
  if (digits.length % 2 === 0) return withDashes(digits)
  const text = `prefix must have an even number of hexadecimal digits, this has ${digits.length}`
  throw new MusterError('invalid_argument', text)
}

/** Behind the last digit there is none: an id goes on, or it is whole. */
function withDashes(digits: string): string {
  const starts = [0, ...dashesAfter].filter((at) => at === 0 || at < digits.length)
  return starts.map((at, place) => digits.slice(at, starts[place + 1])).join('-')
}
