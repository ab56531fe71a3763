/** `format("%-10s|%03d", …)`: the verbs of Go as HCL knows them. */
import { isExact, nameOf, numberOf, textOf } from '../hcl-value.ts'
import type { HclValue } from '../hcl.ts'
import type { HclCall } from './call.ts'
import { jsonOf } from './json.ts'
import { lettersOf } from './letters.ts'

/** Of `%10d` and `%.2f`. */
export const formatWidthMax = 1_000

type Verb = {
  readonly whole: string
  readonly flags: string
  readonly width: number
  readonly precision: number | null
  readonly letter: string
}

export function format(pattern: string, values: readonly HclValue[], call: HclCall): string {
  let next = 0
  let used = 0
  let length = 0
  const pieces: string[] = []
  const add = (piece: string): void => {
    call.spend(1)
    length += piece.length
    call.checkRoom(length)
    pieces.push(piece)
  }
  let end = 0
  // Neither repetition can take a letter of the other twice, so the time is linear.
  const verbs = /%(?:%|([-+ 0#]*)([1-9]\d*)?(?:\.(\d*))?(?:\[(\d+)\])?([A-Za-z])?)/g
  for (const found of pattern.matchAll(verbs)) {
    add(pattern.slice(end, found.index))
    const [whole, flags = '', width = '0', precision, index, letter] = found
    end = found.index + whole.length
    if (whole === '%%') {
      add('%')
      continue
    }
    if (letter === undefined) {
      return call.fail(`${whole} is no verb; there are %v %s %q %d %f %t and %% for a sign`, 0)
    }
    if (index !== undefined) next = Number(index) - 1
    const value = values[next]
    if (value === undefined) return call.fail(`${whole} has no value: give it one more`, 0)
    next += 1
    used = Math.max(used, next)
    const verb: Verb = {
      whole,
      flags,
      letter,
      width: Number(width),
      precision: precision === undefined ? null : Number(precision),
    }
    if (Math.max(verb.width, verb.precision ?? 0) > formatWidthMax) {
      return call.fail(`${whole} is wider than ${formatWidthMax}`, 0)
    }
    add(padded(printed(verb, value, call), verb, call))
  }
  if (used < values.length) {
    call.fail(`the pattern uses ${used} of ${values.length} values`, used + 1)
  }
  add(pattern.slice(end))
  return pieces.join('')
}

function printed(verb: Verb, value: HclValue, call: HclCall): string {
  const { letter, precision, whole } = verb
  switch (letter) {
    case 'v':
      if (value.type === 'number') return signed(textOf(value) ?? '', value.value, verb)
      return verb.flags.includes('#') ? jsonOf(value, call) : (textOf(value) ?? jsonOf(value, call))
    case 's':
    case 'q': {
      const text = textOf(value)
      if (text === null) return call.fail(`${whole} takes a text, not ${nameOf(value)}`)
      const cut = precision === null ? text : lettersOf(text, call).slice(0, precision).join('')
      return letter === 'q' ? JSON.stringify(cut) : cut
    }
    case 't': {
      const text = textOf(value)
      if (text === 'true' || text === 'false') return text
      return call.fail(`${whole} takes true or false, not ${nameOf(value)}`)
    }
    default:
      return printedNumber(verb, value, call)
  }
}

const bases: Readonly<Record<string, number>> = { b: 2, o: 8, d: 10, x: 16, X: 16 }

function printedNumber(verb: Verb, value: HclValue, call: HclCall): string {
  const { letter, precision, whole } = verb
  if ((letter === 'x' || letter === 'X') && value.type === 'string') {
    call.checkRoom(value.value.length * 6)
    return cased(Buffer.from(value.value).toString('hex'), letter)
  }
  const base = Object.hasOwn(bases, letter) ? bases[letter] : undefined
  if (base === undefined && !'eEfFgG'.includes(letter)) {
    return call.fail(`there is no verb ${whole}; there are %v %s %q %d %f %t`, 0)
  }
  const number = numberOf(value)
  if (number === null || !isExact(number)) {
    return call.fail(`${whole} takes a number, not ${nameOf(value)}`)
  }
  if (base !== undefined) {
    if (!Number.isInteger(number)) call.fail(`${whole} takes a whole number, not ${number}`)
    return signed(cased(number.toString(base), letter), number, verb)
  }
  const digits = Math.min(precision ?? 6, 100)
  if (letter === 'f' || letter === 'F') return signed(number.toFixed(digits), number, verb)
  if (letter === 'e' || letter === 'E') {
    // Go writes two digits of an exponent at least.
    const text = number.toExponential(digits).replace(/([-+])(\d)$/, '$10$2')
    return signed(cased(text, letter), number, verb)
  }
  const text = precision === null ? textOf(value) : number.toPrecision(Math.max(digits, 1))
  return signed(cased(text ?? '', letter), number, verb)
}

function cased(text: string, letter: string): string {
  return letter === letter.toUpperCase() ? text.toUpperCase() : text
}

function signed(text: string, value: number, { flags }: Verb): string {
  if (value < 0 || (!flags.includes('+') && !flags.includes(' '))) return text
  return (flags.includes('+') ? '+' : ' ') + text
}

function padded(text: string, { flags, width, letter }: Verb, call: HclCall): string {
  if (width === 0) return text
  const missing = width - lettersOf(text, call).length
  if (missing <= 0) return text
  if (flags.includes('-')) return text + ' '.repeat(missing)
  if (!flags.includes('0') || 'sqt'.includes(letter)) return ' '.repeat(missing) + text
  const sign = /^[-+ ]/.test(text) ? text.slice(0, 1) : ''
  return sign + '0'.repeat(missing) + text.slice(sign.length)
}
