/**
 * The schedule of a periodic job: five fields from minutes to weekdays, six with a year behind, seven with seconds before, or a name
 * such as `@daily`. Checked here; when a job is due next follows from the same fields.
 */
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

type Field = {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly words: readonly string[]
  /** Beside numbers, words, `*`, lists, ranges and steps. */
  readonly special?: RegExp
}

const seconds: Field = { name: 'second', min: 0, max: 59, words: [] }
const years: Field = { name: 'year', min: 1970, max: 2099, words: [] }
const fields: readonly Field[] = [
  { name: 'minute', min: 0, max: 59, words: [] },
  { name: 'hour', min: 0, max: 23, words: [] },
  {
    name: 'day of the month',
    min: 1,
    max: 31,
    words: [],
    special: /^(\?|l|lw|([1-9]|[12]\d|3[01])w)$/,
  },
  { name: 'month', min: 1, max: 12, words: months },
  {
    name: 'day of the week',
    min: 0,
    max: 7,
    words: weekdays,
    special: /^(\?|l|([0-7]|sun|mon|tue|wed|thu|fri|sat)(l|#[1-5]))$/,
  },
]

const named = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@hourly']
const specLengthMax = 256

/** What is wrong with it; null: nothing. */
export function cronFault(spec: string): string | null {
  const text = spec.trim().toLowerCase()
  if (text.length > specLengthMax) return `has over ${specLengthMax} letters`
  if (text.startsWith('@')) {
    return named.includes(text) ? null : `is none of ${named.join(', ')}`
  }
  const parts = text.split(/\s+/)
  const kinds =
    parts.length === 5
      ? fields
      : parts.length === 6
        ? [...fields, years]
        : parts.length === 7
          ? [seconds, ...fields, years]
          : null
  if (kinds === null) {
    return 'must have five fields: minute, hour, day of the month, month, day of the week'
  }
  for (const [index, field] of kinds.entries()) {
    for (const item of (parts[index] ?? '').split(',')) {
      if (!isItem(item, field)) {
        return `has no ${field.name} ${JSON.stringify(item)}: they go from ${field.min} to ${field.max}`
      }
    }
  }
  return null
}

function isItem(item: string, field: Field): boolean {
  if (field.special?.test(item)) return true
  const [range = '', step, ...more] = item.split('/')
  if (more.length > 0) return false
  if (step !== undefined && !/^[1-9]\d{0,3}$/.test(step)) return false
  if (range === '*') return true
  const [first = '', last, ...rest] = range.split('-')
  const from = valueOf(first, field)
  if (from === null || rest.length > 0) return false
  if (last === undefined) return true
  const to = valueOf(last, field)
  return to !== null && from <= to
}

function valueOf(text: string, { min, max, words }: Field): number | null {
  const word = words.indexOf(text)
  const value = word >= 0 ? word + min : /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : null
}
