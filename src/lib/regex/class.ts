/**
 * Sets of code points for regular expressions: ranges, Unicode categories and scripts, other sets; negated; with or
 * without regard to letter case.
 */
import { assertNever } from '../assert.ts'

export type SetItem =
  | { readonly type: 'range'; readonly low: number; readonly high: number }
  | { readonly type: 'property'; readonly property: RegExp; readonly negated: boolean }
  | { readonly type: 'set'; readonly set: CharacterSet }

export type CharacterSet = {
  readonly items: readonly SetItem[]
  readonly negated: boolean
  readonly foldCase: boolean
  /** 1 for the ASCII code points in the set: the common case, looked up instead of computed. */
  readonly ascii: Uint8Array
}

const asciiCount = 128

export function makeSet(
  items: readonly SetItem[],
  options: { readonly negated?: boolean; readonly foldCase?: boolean } = {},
): CharacterSet {
  const foldCase = options.foldCase ?? false
  const set: CharacterSet = {
    items: foldCase ? items.flatMap(withOtherCases) : items,
    negated: options.negated ?? false,
    foldCase,
    ascii: new Uint8Array(asciiCount),
  }
  for (let point = 0; point < asciiCount; point++) set.ascii[point] = compute(set, point) ? 1 : 0
  return set
}

export function setHas(set: CharacterSet, point: number): boolean {
  return point < asciiCount ? set.ascii[point] === 1 : compute(set, point)
}

export function range(low: number, high: number = low): SetItem {
  return { type: 'range', low, high }
}

function compute(set: CharacterSet, point: number): boolean {
  const found = set.foldCase
    ? casesOf(point).some((variant) => anyHas(set.items, variant))
    : anyHas(set.items, point)
  return found !== set.negated
}

function anyHas(items: readonly SetItem[], point: number): boolean {
  return items.some((item) => {
    switch (item.type) {
      case 'range':
        return item.low <= point && point <= item.high
      case 'property':
        return item.property.test(String.fromCodePoint(point)) !== item.negated
      case 'set':
        return compute(item.set, point)
      default:
        return assertNever(item)
    }
  })
}

/** A single letter stands for its whole orbit, so that the Kelvin sign meets k although no case mapping of k leads there. */
function withOtherCases(item: SetItem): SetItem[] {
  if (item.type !== 'range' || item.low !== item.high) return [item]
  return [
    item,
    ...casesOf(item.low)
      .flatMap(casesOf)
      .map((point) => range(point)),
  ]
}

function casesOf(point: number): number[] {
  const text = String.fromCodePoint(point)
  return [point, single(text.toLowerCase()), single(text.toUpperCase())].filter(
    (variant) => variant !== -1,
  )
}

/** The only code point of a text, -1 if there are more: those mappings are not simple folds. */
function single(text: string): number {
  const point = text.codePointAt(0) ?? -1
  return text.length === (point > 0xffff ? 2 : 1) ? point : -1
}

const digit = [range(48, 57)]
const lower = [range(97, 122)]
const upper = [range(65, 90)]
const word = [...digit, ...upper, range(95), ...lower]

/** What `\d`, `\s` and `\w` stand for. */
export const perlClasses: ReadonlyMap<string, readonly SetItem[]> = new Map([
  ['d', digit],
  ['s', [range(9, 10), range(12, 13), range(32)]],
  ['w', word],
])

/** What stands between `[:` and `:]`. */
export const posixClasses: ReadonlyMap<string, readonly SetItem[]> = new Map([
  ['alnum', [...digit, ...upper, ...lower]],
  ['alpha', [...upper, ...lower]],
  ['ascii', [range(0, 127)]],
  ['blank', [range(9), range(32)]],
  ['cntrl', [range(0, 31), range(127)]],
  ['digit', digit],
  ['graph', [range(33, 126)]],
  ['lower', lower],
  ['print', [range(32, 126)]],
  ['punct', [range(33, 47), range(58, 64), range(91, 96), range(123, 126)]],
  ['space', [range(9, 13), range(32)]],
  ['upper', upper],
  ['word', word],
  ['xdigit', [...digit, range(65, 70), range(97, 102)]],
])

/** A Unicode category (`L`, `Lu`), script (`Greek`) or `Any`; undefined when there is none of that name. */
export function unicodeProperty(name: string): RegExp | undefined {
  if (name === 'Any') return /^/
  if (!/^[A-Z][A-Za-z_]{0,39}$/.test(name)) return undefined
  const text = name.length <= 2 ? `gc=${name}` : `Script=${name}`
  try {
    // Of one code point only, so the engine's backtracking has nothing to work on.
    return new RegExp(`^\\p{${text}}$`, 'u')
  } catch {
    return undefined
  }
}
