/**
 * A JSON object read member by member as Vault reads one: what can be taken for the wanted type is. Its
 * clients send numbers as text, lists as text with commas, and durations as seconds or as text. `fields.ts` is the strict one.
 * Null reads as absent, an absent body as an empty object; unknown members are ignored. What cannot be taken is 400, and the
 * text names the member and never shows its value, which may be a secret.
 */
import { parseBoolean } from '../lib/boolean.ts'
import { parseDurationMs } from '../lib/duration.ts'
import { MusterError } from '../lib/errors.ts'
import { isJsonObject } from '../lib/json-object.ts'

/** Items of one list, whichever way it is written. */
export const listItemsMax = 4_096
/** What nanoseconds in 63 bits hold, as Vault counts. */
const secondsMax = 9_223_372_036

export class CoercedFields {
  readonly #members: Readonly<Record<string, unknown>>
  readonly #path: string

  /** `path` leads the names in refusals: `config.`. */
  constructor(value: unknown, path = '') {
    if (value !== undefined && value !== null && !isJsonObject(value)) {
      const what = path === '' ? 'the request body' : path.slice(0, -1)
      throw new MusterError('invalid_argument', `${what} must be a JSON object`)
    }
    this.#members = value ?? {}
    this.#path = path
  }

  has(name: string): boolean {
    return this.#raw(name) !== undefined
  }

  /** Numbers are written out; true is `1` and false is `0`. */
  string(name: string, lengthMax = Infinity): string | undefined {
    const value = this.#raw(name)
    if (value === undefined) return undefined
    const text = textOf(value) ?? this.#fail(name, 'a string')
    return text.length <= lengthMax
      ? text
      : this.#fail(name, `a string of at most ${lengthMax} characters`)
  }

  /** Booleans, boolean words, and numbers: all but 0 are true. An empty text is false. */
  boolean(name: string): boolean | undefined {
    const value = this.#raw(name)
    switch (typeof value) {
      case 'undefined':
      case 'boolean':
        return value
      case 'number':
        return value !== 0
      case 'string':
        if (value === '') return false
        return parseBoolean(value) ?? this.#fail(name, 'true or false')
      default:
        return this.#fail(name, 'true or false')
    }
  }

  /** Whole numbers, also as decimal text. An empty text is 0. */
  integer(name: string): number | undefined {
    const value = this.#raw(name)
    if (value === undefined) return undefined
    const number = value === '' ? 0 : wholeNumberOf(value)
    return number ?? this.#fail(name, 'a whole number')
  }

  /** Milliseconds of whole seconds, as number or decimal text, or of a text such as `1h30m`. An empty text is 0. Never negative. */
  durationMs(name: string): number | undefined {
    const value = this.#raw(name)
    if (value === undefined) return undefined
    if (value === '') return 0
    const seconds = wholeNumberOf(value)
    if (seconds !== undefined && seconds >= 0 && seconds <= secondsMax) return seconds * 1_000
    const ms =
      seconds === undefined && typeof value === 'string' ? parseDurationMs(value) : undefined
    // What is above 0 stays so: 0 stands for no limit.
    if (ms !== undefined && ms >= 0) return ms > 0 ? Math.max(1, Math.floor(ms)) : 0
    return this.#fail(name, 'a number of seconds or a duration such as 90s or 1h30m')
  }

  /** A list of texts, or one text with commas. Items are trimmed; an empty text is the empty list. */
  list(name: string): readonly string[] | undefined {
    const value = this.#raw(name)
    if (value === undefined) return undefined
    const items = Array.isArray(value) ? value.map(textOf) : itemsOf(value)
    if (items === undefined || items.includes(undefined)) {
      return this.#fail(name, 'a list of strings, or a string with commas between them')
    }
    if (items.length > listItemsMax) return this.#fail(name, `at most ${listItemsMax} items`)
    return items.map((item = '') => item.trim())
  }

  object(name: string): CoercedFields | undefined {
    const value = this.#raw(name)
    return value === undefined ? undefined : new CoercedFields(value, `${this.#path}${name}.`)
  }

  /** An object of texts, as pairs in the order sent. */
  pairs(name: string): readonly (readonly [string, string])[] | undefined {
    const value = this.#raw(name)
    if (value === undefined) return undefined
    if (!isJsonObject(value)) return this.#fail(name, 'an object of strings')
    return Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([key, member]) => [key, textOf(member) ?? this.#fail(name, 'an object of strings')])
  }

  #raw(name: string): unknown {
    const value = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined
    return value === null ? undefined : value
  }

  #fail(name: string, right: string): never {
    throw new MusterError('invalid_argument', `${this.#path}${name} must be ${right}`)
  }
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  return typeof value === 'boolean' ? (value ? '1' : '0') : undefined
}

function itemsOf(value: unknown): readonly (string | undefined)[] | undefined {
  const text = textOf(value)
  if (text === undefined) return undefined
  return text.trim() === '' ? [] : text.split(',', listItemsMax + 1)
}

function wholeNumberOf(value: unknown): number | undefined {
  const number =
    typeof value === 'string' && /^[+-]?[0-9]{1,20}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
}
