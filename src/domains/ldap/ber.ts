/** BER as LDAP uses it (RFC 4511, 5.1): definite lengths alone. */
import { assert } from '../../lib/assert.ts'

export const tagOf = { integer: 0x02, octets: 0x04, sequence: 0x30, set: 0x31 } as const

const boolean = 0x01
const enumerated = 0x0a

/** `short`: bytes are missing. Null: a form that LDAP does not use. */
export function readLength(
  bytes: Buffer,
  at: number,
): { readonly value: number; readonly end: number } | 'short' | null {
  const first = bytes[at]
  if (first === undefined) return 'short'
  if (first < 0x80) return { value: first, end: at + 1 }
  const count = first & 0x7f
  if (count === 0 || count > 4) return null
  if (bytes.length < at + 1 + count) return 'short'
  return { value: bytes.readUIntBE(at + 1, count), end: at + 1 + count }
}

/** One element with a definite length. */
export function berElement(tag: number, content: Buffer): Buffer {
  const writer = new BerWriter()
  writer.octets(content, tag)
  return writer.take()
}

/** Enough for the requests of a login with names of a usual length. */
const firstBytes = 512

/** Writes the last element first: what a length says is there already when the length is written, and nothing is copied. */
export class BerWriter {
  #bytes = Buffer.allocUnsafe(firstBytes)
  #at = firstBytes

  /** Bytes that are written. */
  get length(): number {
    return this.#bytes.length - this.#at
  }

  octets(content: Uint8Array, tag: number = tagOf.octets): void {
    this.#room(content.length)
    this.#at -= content.length
    this.#bytes.set(content, this.#at)
    this.#head(tag, content.length)
  }

  text(content: string, tag: number = tagOf.octets): void {
    const length = Buffer.byteLength(content)
    this.#room(length)
    this.#at -= length
    this.#bytes.write(content, this.#at)
    this.#head(tag, length)
  }

  /** From 0 to 2^31 - 1. */
  integer(value: number, tag: number = tagOf.integer): void {
    assert(Number.isInteger(value) && value >= 0 && value < 2 ** 31, 'an integer of LDAP')
    const before = this.length
    let rest = value
    do {
      this.#byte(rest & 0xff)
      rest >>>= 8
    } while (rest > 0)
    // The first bit is the sign.
    if ((this.#bytes[this.#at] ?? 0) >= 0x80) this.#byte(0)
    this.wrap(tag, before)
  }

  enumerated(value: number): void {
    this.integer(value, enumerated)
  }

  boolean(value: boolean): void {
    this.#byte(value ? 0xff : 0)
    this.#head(boolean, 1)
  }

  /** Makes one element of all that was written since `length` was `before`. */
  wrap(tag: number, before: number): void {
    this.#head(tag, this.length - before)
  }

  /** What was written. Nothing is written afterwards. */
  take(): Buffer {
    return this.#bytes.subarray(this.#at)
  }

  #head(tag: number, length: number): void {
    if (length < 0x80) {
      this.#byte(length)
    } else {
      let count = 0
      for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) {
        this.#byte(rest % 256)
        count += 1
      }
      this.#byte(0x80 | count)
    }
    this.#byte(tag)
  }

  #byte(value: number): void {
    this.#room(1)
    this.#at -= 1
    this.#bytes[this.#at] = value
  }

  #room(wanted: number): void {
    if (this.#at >= wanted) return
    const { length } = this
    const larger = Buffer.allocUnsafe(2 * (length + wanted))
    const at = larger.length - length
    this.#bytes.copy(larger, at, this.#at)
    this.#bytes = larger
    this.#at = at
  }
}

/** Reads the elements of a message one after the other. Each read is null where the bytes are none. */
export class BerReader {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number

  constructor(bytes: Buffer, at = 0, end: number = bytes.length) {
    this.#bytes = bytes
    this.#at = at
    this.#end = end
  }

  get hasMore(): boolean {
    return this.#at < this.#end
  }

  /** Whether the next element has this tag. */
  sees(tag: number): boolean {
    return this.#at < this.#end && this.#bytes[this.#at] === tag
  }

  /** The content of the next element. */
  octets(tag: number = tagOf.octets): Buffer | null {
    const end = this.#contentOf(tag)
    if (end === null) return null
    const content = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return content
  }

  text(): string | null {
    const end = this.#contentOf(tagOf.octets)
    if (end === null) return null
    const content = this.#bytes.toString('utf8', this.#at, end)
    this.#at = end
    return content
  }

  /** What is in the next element. */
  inside(tag: number): BerReader | null {
    const end = this.#contentOf(tag)
    if (end === null) return null
    const reader = new BerReader(this.#bytes, this.#at, end)
    this.#at = end
    return reader
  }

  /** One of a single byte, as result codes are. */
  enumerated(): number | null {
    const content = this.octets(enumerated)
    return content?.length === 1 ? (content[0] ?? null) : null
  }

  /** Steps into the next element; its end. */
  #contentOf(tag: number): number | null {
    if (!this.sees(tag)) return null
    const length = readLength(this.#bytes, this.#at + 1)
    if (length === null || length === 'short' || length.end + length.value > this.#end) return null
    this.#at = length.end
    return length.end + length.value
  }
}
