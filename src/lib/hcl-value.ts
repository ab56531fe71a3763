/** Values of HCL: made, named for people, taken apart and put in order. */
import type { HclPosition, HclValue } from './hcl.ts'

export type HclList = HclValue & { readonly type: 'list' }

export function literal(value: string | number | boolean | null, position: HclPosition): HclValue {
  switch (typeof value) {
    case 'string':
      return { type: 'string', value, position }
    case 'number':
      return { type: 'number', value, position }
    case 'boolean':
      return { type: 'boolean', value, position }
    default:
      return { type: 'null', position }
  }
}

/** Of a text, a number or a boolean; null: of nothing else. */
export function textOf(value: HclValue): string | null {
  switch (value.type) {
    case 'string':
      return value.value
    case 'number':
      return decimalOf(value.value)
    case 'boolean':
      return String(value.value)
    default:
      return null
  }
}

/** Without an exponent. Whole numbers of a file are at most 2^53, so only small fractions have one. */
function decimalOf(value: number): string {
  const text = String(value)
  const [, sign = '', whole = '', fraction = '', exponent] =
    /^(-?)(\d)(?:\.(\d+))?e-(\d+)$/.exec(text) ?? []
  if (exponent === undefined) return text
  return `${sign}0.${'0'.repeat(Number(exponent) - 1)}${whole}${fraction}`
}

/** Of a text that says a number, and of a number. */
export function numberOf(value: HclValue): number | null {
  if (value.type === 'number') return value.value
  const isNumber =
    value.type === 'string' && /^-?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/.test(value.value)
  return isNumber ? Number(value.value) : null
}

/** Of a list by its index, of an object by its key. */
export function memberOf(value: HclValue, key: string): HclValue | undefined {
  if (value.type === 'object') return value.entries.get(key)
  if (value.type === 'list' && /^\d{1,9}$/.test(key)) return value.items[Number(key)]
  return undefined
}

export type HclItem = { readonly key: HclValue; readonly value: HclValue }

/**
 * Of a list with their indexes, of a set each its own key, of an object in the order of its keys; null: of nothing else. `spend`: see
 * `compareTexts`.
 */
export function itemsOf(of: HclValue, spend: (letters: number) => void): readonly HclItem[] | null {
  const { position } = of
  if (of.type === 'list') {
    return of.items.map((value, index) => ({
      key: of.isSet === true ? value : literal(index, position),
      value,
    }))
  }
  if (of.type !== 'object') return null
  return [...of.entries]
    .sort(([left], [right]) => compareTexts(left, right, spend))
    .map(([key, value]) => ({ key: literal(key, position), value }))
}

/** Infinite numbers, and whole ones that would not be kept exactly, are no numbers of a file. */
export function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

const names = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
  list: 'a list',
  object: 'an object',
} as const

/** For people: what kind of value it is. */
export function nameOf({ type }: HclValue): string {
  return names[type]
}

/**
 * Order of code points, as that of Nomad's bytes; `<` on strings is another one above U+FFFF. `spend` is told how many letters
 * were read.
 */
export function compareTexts(
  left: string,
  right: string,
  spend: (letters: number) => void,
): number {
  const length = Math.min(left.length, right.length)
  let at = 0
  while (at < length && left.charCodeAt(at) === right.charCodeAt(at)) at++
  spend(at)
  if (at === length) return left.length - right.length
  return rankOf(left.charCodeAt(at)) - rankOf(right.charCodeAt(at))
}

/** Surrogates stand for code points above all others. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
