/**
 * A JSON object from a request, read member by member. Null reads as absent wherever it stands, for clients in Go send a null for
 * every pointer that they left out; unknown members are ignored, a member of the wrong JSON type is 400 and named in the text. Only own members count, so that `__proto__` is a name like any other.
 */
import { MusterError } from '../lib/errors.ts'
import { isJsonObject } from '../lib/json-object.ts'
import { parseDurationMs } from '../lib/duration.ts'

export type FieldsOptions = {
  /** Member names match in any letter case; an exact match wins. */
  readonly anyCase?: boolean
}

export class Fields {
  readonly #members: Readonly<Record<string, unknown>>
  readonly #path: string
  readonly #lower: ReadonlyMap<string, unknown> | null

  /** 400 unless `value` is an object. `path` leads the names in refusals: `DrainSpec.`. */
  constructor(value: unknown, options: FieldsOptions = {}, path = '') {
    if (!isJsonObject(value)) {
      throw new MusterError(
        'invalid_argument',
        value === undefined
          ? 'the request body is empty, it must be a JSON object'
          : path === ''
            ? 'the request body must be a JSON object'
            : `${path.slice(0, -1)} must be an object`,
      )
    }
    this.#members = value
    this.#path = path
    this.#lower = options.anyCase
      ? new Map(Object.entries(value).map(([name, member]) => [name.toLowerCase(), member]))
      : null
  }

  /** The member as it is; undefined when absent or null. */
  raw(name: string): unknown {
    const value = Object.hasOwn(this.#members, name)
      ? this.#members[name]
      : this.#lower?.get(name.toLowerCase())
    return value === null ? undefined : value
  }

  has(name: string): boolean {
    return this.raw(name) !== undefined
  }

  /** Of the members that are there. */
  names(): string[] {
    return Object.keys(this.#members).filter((name) => this.#members[name] !== null)
  }

  text(name: string): string | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'string') return value
    throw this.#wrong(name, 'a string')
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw this.#wrong(name, 'true or false')
  }

  /** A whole number that a double holds exactly (nanoseconds of a duration are: up to 104 days). */
  integer(name: string): number | undefined {
    const value = this.raw(name)
    if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value))) {
      return value
    }
    throw this.#wrong(name, 'a whole number')
  }

  /** A whole number of 64 bits. Beyond what a double holds exactly it is one near it. */
  wideInteger(name: string): number | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 2 ** 63) {
      return value
    }
    throw this.#wrong(name, 'a whole number of 64 bits')
  }

  /** `integer`, 0 or above. */
  count(name: string): number | undefined {
    const value = this.integer(name)
    if (value === undefined || value >= 0) return value
    throw new MusterError('invalid_argument', `${this.#path}${name} must not be below 0`)
  }

  /** Milliseconds of a Go-style duration text. */
  durationMs(name: string): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const value = parseDurationMs(text)
    if (value === undefined) throw this.#wrong(name, 'a duration such as 10s or 1m30s')
    return value
  }

  object(name: string): Fields | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    return new Fields(value, { anyCase: this.#lower !== null }, `${this.#path}${name}.`)
  }

  /** An entry of a list as an object, read as this one is. */
  within(value: unknown, path: string): Fields {
    return new Fields(value, { anyCase: this.#lower !== null }, `${this.#path}${path}`)
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.raw(name)
    if (value === undefined || Array.isArray(value)) return value
    throw this.#wrong(name, 'a list')
  }

  texts(name: string): readonly string[] | undefined {
    const list = this.list(name)
    if (list === undefined) return undefined
    if (list.every((item) => typeof item === 'string')) return list
    throw this.#wrong(name, 'a list of strings')
  }

  /**
   * An object whose members are all strings, as pairs in the order sent: safe for every name. `nulls`: a member that is null is left out,
   * or is 400 where it would be lost data. There names are data as well, and no error repeats one.
   */
  textPairs(
    name: string,
    nulls: 'absent' | 'refused' = 'absent',
  ): readonly (readonly [string, string])[] | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (!isJsonObject(value)) throw this.#wrong(name, 'an object')
    const pairs: (readonly [string, string])[] = []
    for (const [at, [key, member]] of Object.entries(value).entries()) {
      if (member === null && nulls === 'absent') continue
      if (typeof member !== 'string') {
        if (nulls === 'absent') throw this.#wrong(`${name}.${key.slice(0, 100)}`, 'a string')
        throw this.#wrong(name, `an object of strings; its member number ${at + 1} is none`)
      }
      pairs.push([key, member])
    }
    return pairs
  }

  #wrong(name: string, right: string): MusterError {
    return new MusterError('invalid_argument', `${this.#path}${name} must be ${right}`)
  }
}
