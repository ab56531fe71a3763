/**
 * A value that was just packed, as unpacking it would give it: so that the next reader of a row that was written decodes nothing,
 * and the server that proposed a command applies it as it is.
 */

/** More bytes than this in one row are cheaper left packed than copied. */
const copiedBytesMax = 4_096

/** V8 makes a part of a text this long, or longer, a view of the whole. */
const slicedLengthMin = 13

/** What no row is. */
export const notKept = Symbol('not kept')

/**
 * The value that `unpack` makes of `pack(value)`, holding no bytes of the caller's: those lie in blocks with their neighbours,
 * which may be large. `notKept` where that cannot be told cheaply: then the packed bytes have to be read. What is returned
 * shares all but its bytes with `value`, which nobody changes.
 */
export function keptRow(value: unknown): unknown {
  return kept(value, false)
}

/** As `keptRow`, and it shares nothing with `value`, whose owner may go on and change it. */
export function keptApart(value: unknown): unknown {
  return kept(value, true)
}

function kept(value: unknown, isApart: boolean): unknown {
  switch (typeof value) {
    case 'string':
      // Half of a surrogate pair is packed as U+FFFD.
      if (!value.isWellFormed()) return notKept
      return isApart && value.length >= slicedLengthMin ? textApart(value) : value
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : notKept
    case 'boolean':
      return value
    case 'object':
      if (value === null) return null
      if (value instanceof Uint8Array) {
        return value.byteLength <= copiedBytesMax ? Buffer.from(value) : notKept
      }
      return Array.isArray(value) ? keptArray(value, isApart) : keptObject(value, isApart)
    default:
      return notKept
  }
}

/** The part of a text that keeps the whole of it, a request's URL for example, in memory. The result keeps no more than itself. */
function textApart(text: string): string {
  return ` ${text}`.slice(1)
}

function keptArray(array: readonly unknown[], isApart: boolean): unknown {
  let copy: unknown[] | null = isApart ? [...array] : null
  for (let at = 0; at < array.length; at += 1) {
    const member = array[at]
    const found = kept(member, isApart)
    if (found === notKept) return notKept
    if (found === member) continue
    copy ??= [...array]
    copy[at] = found
  }
  return copy ?? array
}

function keptObject(object: object, isApart: boolean): unknown {
  if (Object.getPrototypeOf(object) !== Object.prototype) return notKept
  const members = object as Readonly<Record<string, unknown>>
  let copy: Record<string, unknown> | null = isApart ? copyOf(members) : null
  for (const name of Object.keys(members)) {
    if (isOdd(name)) return notKept
    const member = members[name]
    const found = kept(member, isApart)
    if (found === notKept) return notKept
    if (found === member) continue
    copy ??= copyOf(members)
    copy[name] = found
  }
  return copy ?? object
}

/** Of objects of all shapes: there a spread takes three times as long. */
function copyOf(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.assign({}, members)
}

/** Names that the codec does not read back as they are, and one by which it tells what it packs. */
function isOdd(name: string): boolean {
  return name === '__proto__' || name === 'constructor' || !name.isWellFormed()
}
