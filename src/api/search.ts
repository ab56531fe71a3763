/**
 * The query string, parsed once and read through typed accessors. A name may stand several times; the single-value
 * accessors take the first. Names without a value (`?stale`) have the value ''.
 */
import { parseBoolean } from '../lib/boolean.ts'
import { MusterError } from '../lib/errors.ts'
import { parseDurationMs } from '../lib/duration.ts'
import { parseUnsigned } from '../lib/unsigned.ts'

export class Search {
  readonly #pairs: readonly (readonly [string, string])[]

  constructor(text: string) {
    this.#pairs = text === '' ? [] : parsePairs(text)
  }

  get empty(): boolean {
    return this.#pairs.length === 0
  }

  /** The first value, null when the name is not there. */
  text(name: string): string | null {
    for (const [key, value] of this.#pairs) if (key === name) return value
    return null
  }

  all(name: string): string[] {
    return this.#pairs.filter(([key]) => key === name).map(([, value]) => value)
  }

  /** Whether the name is there at all, with whatever value. */
  has(name: string): boolean {
    return this.text(name) !== null
  }

  /** Absent and empty are `absent`; 400 for anything but a boolean word. */
  boolean(name: string, absent = false): boolean {
    const text = this.text(name)
    if (text === null || text === '') return absent
    const value = parseBoolean(text)
    if (value === undefined) throw bad(name, text, 'must be true or false')
    return value
  }

  /** As `boolean`, but a name without a value means true (`?stale`). */
  flag(name: string): boolean {
    return this.text(name) === '' ? true : this.boolean(name)
  }

  /** Strictly decimal, 0 to 2^64-1; 400 otherwise, also when empty. */
  unsigned(name: string): bigint | null {
    const text = this.text(name)
    if (text === null) return null
    const value = parseUnsigned(text)
    if (value === undefined) throw bad(name, text, 'must be a whole number from 0 to 2^64-1')
    return value
  }

  /** A decimal integer between `min` and `max`, sign allowed; absent and empty are null. */
  integer(name: string, bounds: { readonly min: number; readonly max: number }): number | null {
    const text = this.text(name)
    if (text === null || text === '') return null
    const value = /^[+-]?[0-9]{1,16}$/.test(text) ? Number(text) : NaN
    if (!(value >= bounds.min && value <= bounds.max)) {
      throw bad(name, text, `must be a whole number from ${bounds.min} to ${bounds.max}`)
    }
    return value
  }

  /** Whatever is no decimal integer of at most nine digits is 0. */
  wholeOrZero(name: string): number {
    const text = this.text(name)
    return text !== null && /^-?[0-9]{1,9}$/.test(text) ? Number(text) : 0
  }

  /** Milliseconds of a Go-style duration; absent and empty are null. */
  durationMs(name: string): number | null {
    const text = this.text(name)
    if (text === null || text === '') return null
    const value = parseDurationMs(text)
    if (value === undefined) throw bad(name, text, 'must be a duration such as 10s or 1m30s')
    return value
  }
}

function bad(name: string, value: string, rule: string): MusterError {
  return new MusterError(
    'invalid_argument',
    `query parameter ${name} ${rule}, not ${JSON.stringify(value.slice(0, 100))}`,
  )
}

function parsePairs(text: string): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = []
  for (const part of text.split('&')) {
    if (part === '') continue
    const cut = part.indexOf('=')
    pairs.push(
      cut < 0 ? [decode(part), ''] : [decode(part.slice(0, cut)), decode(part.slice(cut + 1))],
    )
  }
  return pairs
}

function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new MusterError('invalid_argument', 'the query string has a broken percent escape')
  }
}
