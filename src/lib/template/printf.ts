/** Values as text, as Go prints them: `%v` of everything, and the verbs of `printf`. */
import { isObject, type Json } from '../exact-json.ts'
import { refuse } from './fault.ts'

/** Of `%5d`: no table is wider. */
const widthMax = 1_000

/** What `%v` prints: `map[a:1 b:2]` sorted by key, `[1 2]`, `<nil>`. */
export function plain(value: Json): string {
  if (value === null) return '<nil>'
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(plain).join(' ')}]`
  if (isObject(value)) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `map[${members.map(([key, member]) => `${key}:${plain(member)}`).join(' ')}]`
  }
  return typeof value === 'string' ? value : `${value as boolean | number | bigint}`
}

export function printf(format: string, values: readonly Json[]): string {
  let next = 0
  const text = format.replaceAll(
    /%([-+ 0#]*)(\d*)(?:\.(\d*))?([^])|%$/g,
    (whole, flags: string, width: string, precision: string | undefined, verb: string) => {
      if (verb === '%') return '%'
      if (whole === '%') return '%!(NOVERB)'
      if (Number(width) > widthMax || Number(precision ?? 0) > widthMax) {
        refuse(`${whole} is wider than ${widthMax}`)
      }
      if (next >= values.length) return `%!${verb}(MISSING)`
      const value = values[next] ?? null
      next += 1
      const digits = precision === undefined ? null : Number(precision)
      return pad(printed(verb, value, digits, flags), flags, Number(width), value)
    },
  )
  const extra = values.slice(next).map((value) => `${kind(value)}=${plain(value)}`)
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(', ')})`
}

function printed(verb: string, value: Json, digits: number | null, flags: string): string {
  const number = typeof value === 'number' || typeof value === 'bigint'
  const sign = number && flags.includes('+') && value >= 0 ? '+' : ''
  switch (verb) {
    case 'v':
      return plain(value)
    case 's':
      if (number || typeof value === 'boolean') break
      return digits === null ? plain(value) : Array.from(plain(value)).slice(0, digits).join('')
    case 'q':
      if (typeof value !== 'string') break
      return JSON.stringify(value)
    case 'd':
      if (!number || !isWhole(value)) break
      return sign + String(value)
    case 'x':
    case 'X': {
      const text = hex(value)
      if (text === null) break
      return verb === 'X' ? text.toUpperCase() : text
    }
    case 'f':
    case 'F':
      if (!number) break
      return sign + Number(value).toFixed(Math.min(digits ?? 6, 100))
    case 'g':
      if (!number) break
      return sign + String(value)
    case 't':
      if (typeof value !== 'boolean') break
      return String(value)
    default:
  }
  return `%!${verb}(${kind(value)}=${plain(value)})`
}

function hex(value: Json): string | null {
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  const number = typeof value === 'number' || typeof value === 'bigint'
  return number && isWhole(value) ? value.toString(16) : null
}

function isWhole(value: number | bigint): boolean {
  return typeof value === 'bigint' || Number.isInteger(value)
}

function pad(text: string, flags: string, width: number, value: Json): string {
  const missing = width - Array.from(text).length
  if (missing <= 0) return text
  if (flags.includes('-')) return text + ' '.repeat(missing)
  const number = typeof value === 'number' || typeof value === 'bigint'
  if (!flags.includes('0') || !number) return ' '.repeat(missing) + text
  const [, sign = '', rest = ''] = /^([+-]?)([^]*)$/.exec(text) ?? []
  return sign + '0'.repeat(missing) + rest
}

/** Of what kind it is, in Go's words. */
export function kind(value: Json): string {
  if (value === null) return '<nil>'
  if (Array.isArray(value)) return 'list'
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return Number.isInteger(value) ? 'int' : 'float64'
    default:
      return typeof value === 'string' ? 'string' : 'map'
  }
}
