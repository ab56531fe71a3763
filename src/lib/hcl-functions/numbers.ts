/** Functions on numbers. They are doubles, and whole ones are exact up to 2^53. */
import type { HclCall, HclFunctions } from './call.ts'

/** Digits of a number of base 62: 0 to 9, a to z, A to Z. */
const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

export const numberFunctions: HclFunctions = {
  abs: { parameters: 'number', run: (call) => Math.abs(call.number(0)) },
  ceil: { parameters: 'number', run: (call) => Math.ceil(call.number(0)) },
  floor: { parameters: 'number', run: (call) => Math.floor(call.number(0)) },
  log: {
    parameters: 'number, base',
    run: (call) => Math.log(call.number(0)) / Math.log(call.number(1)),
  },
  max: {
    parameters: 'number, numbers…',
    run: (call) => numbers(call).reduce((left, right) => Math.max(left, right)),
  },
  min: {
    parameters: 'number, numbers…',
    run: (call) => numbers(call).reduce((left, right) => Math.min(left, right)),
  },
  parseint: { parameters: 'text, base', run: parseWhole },
  pow: { parameters: 'number, power', run: (call) => call.number(0) ** call.number(1) },
  signum: { parameters: 'number', run: (call) => Math.sign(call.number(0)) },
}

function numbers(call: HclCall): readonly number[] {
  return Array.from({ length: call.count }, (_, index) => call.number(index))
}

function parseWhole(call: HclCall): number {
  const text = call.text(0)
  const base = call.whole(1, { min: 2, max: digits.length })
  const isNegative = text.startsWith('-')
  const written = isNegative || text.startsWith('+') ? text.slice(1) : text
  let value = written === '' ? Number.NaN : 0
  for (const letter of base <= 36 ? written.toLowerCase() : written) {
    const digit = digits.indexOf(letter)
    value = digit >= 0 && digit < base ? value * base + digit : Number.NaN
    if (!(value <= Number.MAX_SAFE_INTEGER)) break
  }
  if (Number.isNaN(value)) call.fail(`this is no whole number of base ${base}`, 0)
  return isNegative ? -value : value
}
