/**
 * Takes the fields of one message out of its map, each checked against its range. A missing or nil field is zero, an
 * unknown one is never asked for. The first field that is not what it should be makes the whole `valid` false.
 */
import type { Endpoint, Source, Versions } from '../core/message.ts'
import { addressOf } from './address.ts'
import { isMap, readValue, type ReadBounds, type Value, type ValueMap } from './msgpack.ts'
import { copyOf, textFrom } from './text.ts'

/** Longest name of a member: two of 255 bytes and the rest of a message fit a packet with room to spare. */
export const nameBytesMax = 255
/** Sequence numbers and incarnations are 32 bits wide on the other side. */
export const uint32Max = 2 ** 32 - 1
/** Lamport times are 64 bits wide on the other side; one more than any accepted is still a safe integer. */
export const lamportMax = 2 ** 53 - 2
const portMax = 65_535
const versionsBytes = 6

// Control characters would let a member write lines of its own into logs and tables.
function hasControl(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x20 || code === 0x7f) return true
  }
  return false
}

/** A member's name: 1 to 255 bytes of UTF-8 without control characters. */
export function nameFrom(value: Value | undefined): string | null {
  if (!(value instanceof Uint8Array) || value.length === 0 || value.length > nameBytesMax) {
    return null
  }
  const name = textFrom(value)
  return name === null || hasControl(name) ? null : name
}

/** Null when the value is not an integer from 0 to `max`. */
export function unsignedFrom(value: Value | undefined, max: number): number | null {
  if (value === null || value === undefined) return 0
  const fits = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
  return fits && value <= max ? value : null
}

/** The fields of the map at `offset`, and where the bytes after it begin; null when no whole map is there. */
export function readFields(
  bytes: Uint8Array,
  offset: number,
  bounds: ReadBounds,
): { readonly fields: Fields; readonly next: number } | null {
  const read = readValue(bytes, offset, bounds)
  if (read.type !== 'value' || !isMap(read.value)) return null
  return { fields: new Fields(read.value), next: read.next }
}

export class Fields {
  valid = true
  readonly #map: ValueMap

  constructor(map: ValueMap) {
    this.#map = map
  }

  unsigned(name: string, max: number): number {
    return unsignedFrom(this.#map.get(name), max) ?? this.#refuse(0)
  }

  /** Any number, also one that is none. */
  float(name: string): number {
    const value = this.#map.get(name) ?? 0
    return typeof value === 'number' ? value : this.#refuse(0)
  }

  boolean(name: string): boolean {
    const value = this.#map.get(name) ?? false
    return typeof value === 'boolean' ? value : this.#refuse(false)
  }

  /** Text of any characters. */
  text(name: string, bytesMax: number): string {
    const bytes = this.#view(name, bytesMax)
    if (bytes === null) return ''
    return textFrom(bytes) ?? this.#refuse('')
  }

  /** The name of a member, which is there. */
  name(name: string): string {
    return nameFrom(this.#map.get(name)) ?? this.#refuse('')
  }

  /** The name of a member, or empty. */
  nameOrEmpty(name: string): string {
    const value = this.#map.get(name) ?? null
    return value === null || (value instanceof Uint8Array && value.length === 0)
      ? ''
      : this.name(name)
  }

  /** A copy; null for nil. */
  bytesOrNull(name: string, bytesMax: number): Uint8Array | null {
    const bytes = this.#view(name, bytesMax)
    return bytes === null ? null : copyOf(bytes)
  }

  /** A copy; empty for nil. */
  bytes(name: string, bytesMax: number): Uint8Array {
    return this.bytesOrNull(name, bytesMax) ?? new Uint8Array()
  }

  /** An address of 4 or 16 bytes and a port other than 0. */
  endpoint(addressName: string, portName: string): Endpoint {
    const address = addressOf(this.#view(addressName, 16) ?? new Uint8Array())
    const port = this.unsigned(portName, portMax)
    if (address === null || port === 0) this.valid = false
    return { address: address ?? new Uint8Array(4), port }
  }

  /** Null when the sender named no address of its own, as older ones do. */
  source(): Source | null {
    const address = this.#view('SourceAddr', 16)
    if (address === null || address.length === 0 || !this.#map.has('SourcePort')) return null
    const endpoint = this.endpoint('SourceAddr', 'SourcePort')
    return { endpoint, node: this.nameOrEmpty('SourceNode') }
  }

  /** Six numbers in a byte string. Null when there is none. */
  versions(name: string): Versions | null {
    const bytes = this.#view(name, versionsBytes)
    if (bytes === null || bytes.length === 0) return null
    if (bytes.length !== versionsBytes) return this.#refuse(null)
    const [protocolMin = 0, protocolMax = 0, protocolCurrent = 0] = bytes
    const [delegateMin = 0, delegateMax = 0, delegateCurrent = 0] = bytes.subarray(3)
    return {
      protocolMin,
      protocolMax,
      protocolCurrent,
      delegateMin,
      delegateMax,
      delegateCurrent,
    }
  }

  /** The elements of a list; empty for nil. They are not checked. */
  list(name: string, countMax: number): readonly Value[] {
    const value = this.#map.get(name) ?? null
    if (value === null) return []
    return Array.isArray(value) && value.length <= countMax ? value : this.#refuse([])
  }

  /** The entries of a map; empty for nil. They are not checked. */
  map(name: string): ValueMap {
    const value = this.#map.get(name) ?? null
    if (value === null) return new Map()
    return isMap(value) ? value : this.#refuse(new Map())
  }

  #view(name: string, bytesMax: number): Uint8Array | null {
    const value = this.#map.get(name) ?? null
    if (value === null) return null
    return value instanceof Uint8Array && value.length <= bytesMax ? value : this.#refuse(null)
  }

  #refuse<T>(instead: T): T {
    this.valid = false
    return instead
  }
}
