/**
 * Keys as LevelDB sees them. A key is built as a string whose UTF-8 bytes are what LevelDB compares: strings hash
 * fast in maps (overlays, watches), and the database encodes them itself.
 *
 * Layout: `generation` (4 characters), `kind` (1 character), the table's name, then the parts of the key.
 * Order of keys is the order of their parts: a string part is its characters and the end mark NUL 01 (a NUL inside is
 * NUL 02, so "a" sorts before "a" NUL), a number is eight characters of seven bits. An encoded front of a key is
 * therefore exactly the prefix of all keys that have these parts in front.
 */
import { assert, AssertionError } from '../lib/assert.ts'
import type { Key, KeyPart, Range } from './domain.ts'

/** Characters of one encoded key. Domains keep their names far below it; reaching it is a defect. */
export const keyCharactersMax = 10_240

const partEnd = '\x00\x01'
const escapedNul = '\x00\x02'

/** What a key is for. `row` and `index` are followed by a table's name, `tableIndex` ends with it. */
export const kind = { row: '\x01', index: '\x02', tableIndex: '\x03', floor: '\x04' } as const

/** Above every key: no UTF-8 text holds this byte. */
const aboveAll = 0xff

export function encodeString(text: string): string {
  return escapeString(text) + partEnd
}

function escapeString(text: string): string {
  // Half of a surrogate pair has no UTF-8 form; it reads as U+FFFD here as it would on its way through msgpack.
  const whole = text.isWellFormed() ? text : text.toWellFormed()
  return whole.includes('\x00') ? whole.replaceAll('\x00', escapedNul) : whole
}

/** Characters of a number. */
export const numberLength = 8

/** 0 to 2^53-1 as eight characters below 0x80, most significant first. */
export function encodeNumber(value: number): string {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new AssertionError(`a number in a key is an integer from 0 to 2^53-1, not ${value}`)
  }
  const high = Math.floor(value / 0x1000_0000)
  const low = value % 0x1000_0000
  return String.fromCharCode(
    (high >>> 21) & 127,
    (high >>> 14) & 127,
    (high >>> 7) & 127,
    high & 127,
    (low >>> 21) & 127,
    (low >>> 14) & 127,
    (low >>> 7) & 127,
    low & 127,
  )
}

/** The number whose characters begin at `position`. */
export function decodeNumber(encoded: string, position: number): number {
  let value = 0
  for (let at = position; at < position + numberLength; at += 1) {
    value = value * 128 + encoded.charCodeAt(at)
  }
  return value
}

function encodePart(part: KeyPart): string {
  return typeof part === 'string' ? encodeString(part) : encodeNumber(part)
}

/** A whole key or the front of one. */
export function encodeKey(key: Key): string {
  let encoded = ''
  for (const part of key) encoded += encodePart(part)
  if (encoded.length <= keyCharactersMax) return encoded
  const text = `a key has at most ${keyCharactersMax} characters, not ${encoded.length}`
  throw new AssertionError(text)
}

/** The parts of a key that has only strings. */
export function stringsOfKey(encoded: string): string[] {
  const parts = encoded.split(partEnd)
  parts.pop()
  return parts.map((part) => (part.includes('\x00') ? part.replaceAll(escapedNul, '\x00') : part))
}

/** What all keys of a range begin with. */
export function encodeRangePrefix(range: Range): string {
  const whole = encodeKey(range.prefix ?? [])
  return range.startsWith === undefined ? whole : whole + escapeString(range.startsWith)
}

/** Numbered by log entries, so 28 bits are plenty. */
export const generationMax = 2 ** 28 - 1

/** Generations count from 1; 0 holds the machine's own rows. */
export function generationPrefix(generation: number): string {
  assert(
    generation >= 0 && generation <= generationMax,
    `generation ${generation} is outside of 0 to 2^28-1`,
  )
  return String.fromCharCode(
    (generation >>> 21) & 127,
    (generation >>> 14) & 127,
    (generation >>> 7) & 127,
    generation & 127,
  )
}

/** Of `generationPrefix`. */
const generationLength = 4

/** Whether it is the key of an index entry; a generation is in front. */
export function isIndexKey(full: string): boolean {
  return full[generationLength] === kind.index
}

/**
 * What all keys of the same table or index begin with, behind `front`, their generation; null for a key of another generation and
 * for what is no row and no index entry.
 */
export function baseOfKey(full: string, front: string): string | null {
  if (!full.startsWith(front)) return null
  const isIndex = isIndexKey(full)
  if (!isIndex && full[generationLength] !== kind.row) return null
  const tableEnd = full.indexOf(partEnd, generationLength) + partEnd.length
  const end = isIndex ? full.indexOf(partEnd, tableEnd) + partEnd.length : tableEnd
  return full.slice(generationLength, end)
}

export function generationOf(key: string): number {
  let generation = 0
  for (let position = 0; position < 4; position += 1) {
    generation = generation * 128 + key.charCodeAt(position)
  }
  return generation
}

/** The first bytes after every key that begins with `prefix`: an exclusive upper bound. */
export function endOfPrefix(prefix: string): Buffer {
  const bytes = Buffer.from(prefix, 'utf8')
  return Buffer.concat([bytes, Buffer.of(aboveAll)])
}

/** A range that holds no key, above all of them. */
export const emptyRange = Buffer.of(aboveAll)

/** Order of the UTF-8 bytes, which is the order of code points; `<` on strings is not, above U+FFFF. */
export function compareEncoded(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let position = 0; position < length; position += 1) {
    const leftUnit = left.charCodeAt(position)
    const rightUnit = right.charCodeAt(position)
    if (leftUnit !== rightUnit) return codePointRank(leftUnit) - codePointRank(rightUnit)
  }
  return left.length - right.length
}

/** Surrogates stand for code points above all others, so they rank above U+E000 to U+FFFF. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000
}
