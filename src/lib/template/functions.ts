/** What a template may call: Go's own functions but those for other languages' escapes, and `json`. */
import { isObject, printJson, type Json } from '../exact-json.ts'
import { refuse } from './fault.ts'
import type { Arity } from './parse.ts'
import { kind, plain, printf } from './printf.ts'

export type TemplateFunction = Arity & {
  /**
   * `spend` takes steps for work that shows neither in the arguments nor in the result. `isLiteral`: the template has the first argument as it
   * is, so an error may tell it.
   */
  readonly run: (args: readonly Json[], spend: (steps: number) => void, isLiteral: boolean) => Json
  /** It goes over no list and no map that it is given, and makes nothing within the one that it returns. */
  readonly looksAtFew?: true
}

/** By name. */
export type Functions = Readonly<Record<string, TemplateFunction>>

/** More than a user passes on one line. */
const argsMax = 64

const looksAtFew = true

/** `and` and `or` are not here: they leave arguments unlooked at. */
export const functions: Functions = {
  __proto__: null as never,
  print: { argsMin: 0, argsMax, run: (args) => spaced(args) },
  println: { argsMin: 0, argsMax, run: (args) => `${args.map(plain).join(' ')}\n` },
  printf: { argsMin: 1, argsMax, run: ([format, ...values]) => printf(text(format), values) },
  len: { argsMin: 1, argsMax: 1, looksAtFew, run: ([value]) => length(value) },
  index: {
    argsMin: 1,
    argsMax,
    looksAtFew,
    run: ([value, ...keys]) => keys.reduce(at, value ?? null),
  },
  slice: { argsMin: 1, argsMax: 3, looksAtFew, run: ([value, from, to]) => slice(value, from, to) },
  not: { argsMin: 1, argsMax: 1, looksAtFew, run: ([value]) => !isTrue(value ?? null) },
  eq: { argsMin: 2, argsMax, run: ([left, ...rest]) => rest.some((right) => same(left, right)) },
  ne: { argsMin: 2, argsMax: 2, run: ([left, right]) => !same(left, right) },
  lt: { argsMin: 2, argsMax: 2, run: ([left, right]) => order(left, right) < 0 },
  le: { argsMin: 2, argsMax: 2, run: ([left, right]) => order(left, right) <= 0 },
  gt: { argsMin: 2, argsMax: 2, run: ([left, right]) => order(left, right) > 0 },
  ge: { argsMin: 2, argsMax: 2, run: ([left, right]) => order(left, right) >= 0 },
  json: { argsMin: 1, argsMax: 1, run: ([value]) => printJson(value ?? null).trimEnd() },
}

/** Go's truth: not the zero of its kind. */
export function isTrue(value: Json): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (isObject(value)) return sizeOf(value) > 0
  return value !== null && value !== false && value !== '' && value !== 0 && value !== 0n
}

/** By map, as JavaScript goes over all members to count them, and a loop asks for each of its turns. */
const sizes = new WeakMap<object, number>()

/** Members of a map, which does not change. */
export function sizeOf(map: Readonly<Record<string, Json>>): number {
  const known = sizes.get(map)
  if (known !== undefined) return known
  const size = Object.keys(map).length
  sizes.set(map, size)
  return size
}

function spaced(args: readonly Json[]): string {
  return args.reduce<string>((line, value, position) => {
    const before = args[position - 1]
    const apart = position > 0 && typeof before !== 'string' && typeof value !== 'string'
    return `${line}${apart ? ' ' : ''}${plain(value)}`
  }, '')
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : refuse('printf needs a text first')
}

function length(value: Json | undefined): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (Array.isArray(value)) return value.length
  return isObject(value) ? sizeOf(value) : refuse('len needs a text, a list or a map')
}

function at(value: Json, key: Json): Json {
  if (Array.isArray(value)) {
    const list: readonly Json[] = value
    const position = typeof key === 'bigint' || typeof key === 'number' ? Number(key) : -1
    return position in list
      ? (list[position] ?? null)
      : refuse(`index ${position} is not in a list of ${list.length}`)
  }
  if (!isObject(value)) return refuse('index needs a list or a map')
  const name = typeof key === 'string' ? key : refuse('the index of a map is a text')
  return Object.hasOwn(value, name) ? (value[name] ?? null) : ''
}

function slice(value: Json | undefined, from: Json | undefined, to: Json | undefined): Json {
  if (typeof value !== 'string' && !Array.isArray(value))
    return refuse('slice needs a text or a list')
  const place = (given: Json | undefined, otherwise: number): number => {
    if (given === undefined) return otherwise
    const number = typeof given === 'bigint' || typeof given === 'number' ? Number(given) : -1
    return number >= 0 && number <= value.length
      ? number
      : refuse(`slice takes numbers up to the length, not a ${kind(given)}`)
  }
  return (value as string).slice(place(from, 0), place(to, value.length))
}

function same(left: Json | undefined, right: Json | undefined): boolean {
  if (isNumber(left) && isNumber(right)) return left == right
  if (typeof left === 'object' && left !== null) return refuse('eq compares no lists and no maps')
  return left === right
}

function order(left: Json | undefined, right: Json | undefined): number {
  if (isNumber(left) && isNumber(right)) return left < right ? -1 : left > right ? 1 : 0
  if (typeof left !== 'string' || typeof right !== 'string') {
    return refuse('lt, le, gt and ge compare two numbers or two texts')
  }
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

function isNumber(value: Json | undefined): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
