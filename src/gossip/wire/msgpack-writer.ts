/**
 * Writes msgpack as memberlist and serf write it: strings and bytes alike in the old raw family, integers as short as
 * they go, absent bytes as nil.
 */
import { textBytes } from './text.ts'

const firstCapacityBytes = 256

/** Grows as it is written to. Counts and lengths up to 2^32-1, integers up to 2^53-1. */
export class Writer {
  #bytes = new Uint8Array(firstCapacityBytes)
  #view = new DataView(this.#bytes.buffer)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** What was written, in memory of its own. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  /** One byte as it is, outside msgpack. */
  byte(value: number): this {
    const start = this.#reserve(1)
    this.#bytes[start] = value
    return this
  }

  /** Bytes as they are, outside msgpack. */
  append(bytes: Uint8Array): this {
    const start = this.#reserve(bytes.length)
    this.#bytes.set(bytes, start)
    return this
  }

  map(count: number): this {
    return count < 16 ? this.byte(0x80 + count) : this.#counted(count, 0xde, 0xdf)
  }

  array(count: number): this {
    return count < 16 ? this.byte(0x90 + count) : this.#counted(count, 0xdc, 0xdd)
  }

  nil(): this {
    return this.byte(0xc0)
  }

  boolean(value: boolean): this {
    return this.byte(value ? 0xc3 : 0xc2)
  }

  /** An integer of 0 or more. */
  unsigned(value: number): this {
    if (value < 0x80) return this.byte(value)
    if (value < 0x100) return this.byte(0xcc).byte(value)
    if (value < 0x1_0000) return this.byte(0xcd).#uint16(value)
    if (value < 0x1_0000_0000) return this.byte(0xce).#uint32(value)
    this.byte(0xcf)
    const start = this.#reserve(8)
    this.#view.setBigUint64(start, BigInt(value))
    return this
  }

  float(value: number): this {
    this.byte(0xcb)
    const start = this.#reserve(8)
    this.#view.setFloat64(start, value)
    return this
  }

  raw(bytes: Uint8Array): this {
    const { length } = bytes
    if (length < 32) this.byte(0xa0 + length)
    else this.#counted(length, 0xda, 0xdb)
    return this.append(bytes)
  }

  /** Null as nil. */
  rawOrNil(bytes: Uint8Array | null): this {
    return bytes === null ? this.nil() : this.raw(bytes)
  }

  text(text: string): this {
    return this.raw(textBytes(text))
  }

  #counted(count: number, tag16: number, tag32: number): this {
    return count < 0x1_0000 ? this.byte(tag16).#uint16(count) : this.byte(tag32).#uint32(count)
  }

  #uint16(value: number): this {
    const start = this.#reserve(2)
    this.#view.setUint16(start, value)
    return this
  }

  #uint32(value: number): this {
    const start = this.#reserve(4)
    this.#view.setUint32(start, value)
    return this
  }

  /**
   * Makes room for `count` bytes and returns where they begin. The buffer may be another afterwards: call it before the
   * buffer is named.
   */
  #reserve(count: number): number {
    const start = this.#length
    this.#length += count
    if (this.#length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2))
      grown.set(this.#bytes)
      this.#bytes = grown
      this.#view = new DataView(grown.buffer)
    }
    return start
  }
}
