/**
 * A row that was just packed, as unpacking it would give it: so that the next reader of what was written decodes nothing.
 */

/** More bytes than this in one row are cheaper left packed than copied. */
const copiedBytesMax = 4_096

/** What no row is. */
export const notKept = Symbol('not kept')

/**
 * The value that `unpack` makes of `pack(value)`, holding no bytes of the caller's: those lie in blocks with their neighbours,
 * which may be large. `notKept` where that cannot be told cheaply: then the packed bytes have to be read. What is returned
 * shares all but its bytes with `value`, which nobody changes.
 */
export function keptRow(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      // Half of a surrogate pair is packed as U+FFFD.
      return value.isWellFormed() ? value : notKept
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : notKept
    case 'boolean':
      return value
    case 'object':
      if (value === null) return null
      if (value instanceof Uint8Array) {
        return value.byteLength <= copiedBytesMax ? Buffer.from(value) : notKept
      }
      return Array.isArray(value) ? keptArray(value) : keptObject(value)
    default:
      return notKept
  }
}

function keptArray(array: readonly unknown[]): unknown {
  let copy: unknown[] | null = null
  for (let at = 0; at < array.length; at += 1) {
    const member = array[at]
    const kept = keptRow(member)
    if (kept === notKept) return notKept
    if (kept === member) continue
    copy ??= [...array]
    copy[at] = kept
  }
  return copy ?? array
}

function keptObject(object: object): unknown {
  if (Object.getPrototypeOf(object) !== Object.prototype) return notKept
  const members = object as Readonly<Record<string, unknown>>
  let copy: Record<string, unknown> | null = null
  for (const name of Object.keys(members)) {
    if (isOdd(name)) return notKept
    const member = members[name]
    const kept = keptRow(member)
    if (kept === notKept) return notKept
    if (kept === member) continue
    copy ??= { ...members }
    copy[name] = kept
  }
  return copy ?? object
}

/** Names that the codec does not read back as they are, and one by which it tells what it packs. */
function isOdd(name: string): boolean {
  return name === '__proto__' || name === 'constructor' || !name.isWellFormed()
}
