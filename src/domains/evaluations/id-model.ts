/** Ids of nodes, evaluations and allocations as clients write them: whole, or the front of one in lists. */
import { MusterError } from '../../lib/errors.ts'

const uuidLength = 36

/** Throws `invalid_argument` for what is no whole id; any letter case reads. `what`: `node`. */
export function checkWholeId(what: string, id: string): string {
  if (id.length === uuidLength) return id.toLowerCase()
  const text = `${what} ID must be the whole UUID, of ${uuidLength} characters; this has ${id.length}`
  throw new MusterError('invalid_argument', text)
}

/** Of the ids in a list. Throws `invalid_argument` as Nomad does, for its tools shorten ids to an even number. */
export function checkIdPrefix(prefix: string): string {
  const digits = prefix.replaceAll('-', '')
  if (!/^[0-9a-f]*$/.test(digits)) {
    throw new MusterError(
      'invalid_argument',
      'prefix must be hexadecimal: 0 to 9, a to f, and dashes',
    )
  }
  if (digits.length % 2 === 0) return prefix
  const text = `prefix must have an even number of hexadecimal digits, this has ${digits.length}`
  throw new MusterError('invalid_argument', text)
}
