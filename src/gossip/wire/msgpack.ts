/**
 * Reads the dialect of msgpack that memberlist and serf speak. Text and bytes are one family there, so every string is
 * handed out as bytes, and the caller that knows the field decodes its text. Map keys are text.
 *
 * Reads what Go's decoders read: the old raw family, bin, str 8, integers of any width, floats, extensions.
 */
import { textFrom } from './text.ts'

/** A kind of value that no message here has; kept apart so that an unknown field of it can be skipped. */
export type Extension = { readonly extension: Uint8Array }

/** Integers beyond 2^53 are the nearest number: no safe integer, so that every field check refuses them. */
export type Value =
  | null
  | boolean
  | number
  /** A view of the input. */
  | Uint8Array
  | Extension
  | readonly Value[]
  | ValueMap

export type ValueMap = ReadonlyMap<string, Value>

export function isMap(value: Value): value is ValueMap {
  return value instanceof Map
}

export type Read =
  | { readonly type: 'value'; readonly value: Value; readonly next: number }
  /** The bytes end within the value; more of them may complete it. */
  | { readonly type: 'incomplete' }
  | { readonly type: 'broken' }

export type ReadBounds = {
  /** Values in all, map keys included. */
  readonly valuesMax: number
  /** Bytes of one string. */
  readonly stringBytesMax: number
}

/** Containers within containers; serf's deepest message has 5. */
export const depthMax = 12

/** Reads the value that begins at `offset`. */
export function readValue(bytes: Uint8Array, offset: number, bounds: ReadBounds): Read {
  const cursor = new Cursor(bytes, offset, bounds)
  const value = cursor.value(0)
  if (cursor.failure !== null) return { type: cursor.failure }
  return { type: 'value', value, next: cursor.offset }
}

/** Failures are sticky: after one, every method returns nothing of meaning, and loops end. */
class Cursor {
  failure: 'incomplete' | 'broken' | null = null
  offset: number
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #stringBytesMax: number
  #valuesLeft: number

  constructor(bytes: Uint8Array, offset: number, bounds: ReadBounds) {
    this.offset = offset
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#stringBytesMax = bounds.stringBytesMax
    this.#valuesLeft = bounds.valuesMax
  }

  value(depth: number): Value {
    this.#valuesLeft -= 1
    if (this.#valuesLeft < 0) return this.#breaks()
    const tag = this.#unsigned(1)
    if (this.failure !== null) return null
    if (tag < 0x80) return tag
    if (tag < 0x90) return this.#map(tag - 0x80, depth)
    if (tag < 0xa0) return this.#array(tag - 0x90, depth)
    if (tag < 0xc0) return this.#string(tag - 0xa0)
    if (tag >= 0xe0) return tag - 0x100
    return this.#tagged(tag, depth)
  }

  #tagged(tag: number, depth: number): Value {
    switch (tag) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xc4:
      case 0xd9:
        return this.#string(this.#unsigned(1))
      case 0xc5:
      case 0xda:
        return this.#string(this.#unsigned(2))
      case 0xc6:
      case 0xdb:
        return this.#string(this.#unsigned(4))
      case 0xc7:
        return this.#extension(this.#unsigned(1))
      case 0xc8:
        return this.#extension(this.#unsigned(2))
      case 0xc9:
        return this.#extension(this.#unsigned(4))
      case 0xca:
        return this.#number(4, (at) => this.#view.getFloat32(at))
      case 0xcb:
        return this.#number(8, (at) => this.#view.getFloat64(at))
      case 0xcc:
        return this.#unsigned(1)
      case 0xcd:
        return this.#unsigned(2)
      case 0xce:
        return this.#unsigned(4)
      case 0xcf:
        return this.#number(8, (at) => Number(this.#view.getBigUint64(at)))
      case 0xd0:
        return this.#number(1, (at) => this.#view.getInt8(at))
      case 0xd1:
        return this.#number(2, (at) => this.#view.getInt16(at))
      case 0xd2:
        return this.#number(4, (at) => this.#view.getInt32(at))
      case 0xd3:
        return this.#number(8, (at) => Number(this.#view.getBigInt64(at)))
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#extension(2 ** (tag - 0xd4))
      case 0xdc:
        return this.#array(this.#unsigned(2), depth)
      case 0xdd:
        return this.#array(this.#unsigned(4), depth)
      case 0xde:
        return this.#map(this.#unsigned(2), depth)
      case 0xdf:
        return this.#map(this.#unsigned(4), depth)
      default:
        // 0xc1, which the format never uses.
        return this.#breaks()
    }
  }

  #array(count: number, depth: number): Value {
    const values: Value[] = []
    if (!this.#enter(count, depth)) return null
    for (let index = 0; index < count; index++) {
      values.push(this.value(depth + 1))
      if (this.failure !== null) return null
    }
    return values
  }

  #map(count: number, depth: number): Value {
    const entries = new Map<string, Value>()
    if (!this.#enter(count * 2, depth)) return null
    for (let index = 0; index < count; index++) {
      const key = this.value(depth + 1)
      if (this.failure !== null) return null
      const name = key instanceof Uint8Array ? textFrom(key) : null
      if (name === null) return this.#breaks()
      entries.set(name, this.value(depth + 1))
      if (this.failure !== null) return null
    }
    return entries
  }

  /** Refuses a container before anything is made for it. */
  #enter(values: number, depth: number): boolean {
    if (depth >= depthMax || values > this.#valuesLeft) this.#breaks()
    return this.failure === null
  }

  #string(length: number): Value {
    if (length > this.#stringBytesMax) return this.#breaks()
    const start = this.offset
    if (!this.#take(length)) return null
    return this.#bytes.subarray(start, start + length)
  }

  #extension(length: number): Value {
    // One byte of kind goes before the data.
    const bytes = this.#string(length + 1)
    return bytes instanceof Uint8Array ? { extension: bytes } : null
  }

  #number(width: number, read: (at: number) => number): number {
    const start = this.offset
    return this.#take(width) ? read(start) : 0
  }

  #unsigned(width: 1 | 2 | 4): number {
    const start = this.offset
    if (!this.#take(width)) return 0
    if (width === 1) return this.#view.getUint8(start)
    return width === 2 ? this.#view.getUint16(start) : this.#view.getUint32(start)
  }

  #take(length: number): boolean {
    if (this.failure !== null) return false
    if (length > this.#bytes.length - this.offset) {
      this.failure = 'incomplete'
      return false
    }
    this.offset += length
    return true
  }

  #breaks(): null {
    this.failure ??= 'broken'
    return null
  }
}
