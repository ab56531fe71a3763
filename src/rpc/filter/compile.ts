/**
 * A parsed filter and the shape of the records it is for, made into a predicate. Fields and values are checked here,
 * once, so that a wrong expression is refused whether or not there is a record to try it on.
 */
import { assertNever } from '../../lib/assert.ts'
import { parseBoolean } from '../../lib/boolean.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import { compilePattern } from '../../lib/regex/pattern.ts'
import { refuseFilter, type Expression, type Match, type Selector } from './parse.ts'
import {
  describeShape,
  mapKeys,
  memberOf,
  memberShape,
  type RecordShape,
  type Shape,
} from './shape.ts'

/** `any` inside `any`: each level multiplies the work by the length of a list. */
export const collectionDepthMax = 2
/** Of all patterns of an expression together: what they take to compile, to keep, and for each record. */
export const patternStatesMax = 10_000
/** What a collection counts for in the estimate of the work. */
const collectionWeight = 16

/** Values in scope: the record first, then what enclosing `any` and `all` have bound. */
export type Frames = readonly unknown[]

export type Predicate = { readonly weight: number; matches(frames: Frames): boolean }

type Binding = { readonly name: string; readonly shape: Shape; readonly frame: number }
type Scope = {
  readonly record: RecordShape
  readonly bindings: readonly Binding[]
  readonly frames: number
  readonly depth: number
  /** Of the patterns so far, of the whole expression. */
  readonly patterns: { states: number }
}
type ValueTest = { readonly weight: number; readonly matches: (value: unknown) => boolean }
type Resolved = { readonly shape: Shape; readonly read: (frames: Frames) => unknown }

export function compileExpression(expression: Expression, record: RecordShape): Predicate {
  const patterns = { states: 0 }
  return compile(expression, { record, bindings: [], frames: 1, depth: 0, patterns })
}

function compile(expression: Expression, scope: Scope): Predicate {
  switch (expression.type) {
    case 'match':
      return compileMatch(expression, scope)
    case 'not': {
      const part = compile(expression.part, scope)
      return { weight: part.weight, matches: (frames) => !part.matches(frames) }
    }
    case 'and':
    case 'or': {
      const left = compile(expression.left, scope)
      const right = compile(expression.right, scope)
      const weight = left.weight + right.weight
      return expression.type === 'and'
        ? { weight, matches: (frames) => left.matches(frames) && right.matches(frames) }
        : { weight, matches: (frames) => left.matches(frames) || right.matches(frames) }
    }
    case 'any':
    case 'all':
      return compileCollection(expression, scope)
    default:
      return assertNever(expression)
  }
}

function compileCollection(
  expression: Extract<Expression, { type: 'any' | 'all' }>,
  scope: Scope,
): Predicate {
  const { type, selector, first, second } = expression
  const source = resolve(selector, scope)
  const { shape } = source
  if (typeof shape === 'string' || 'record' in shape) {
    throw refuseFilter(
      `${type} needs a list or a map, ${nameOf(selector)} is ${describeShape(shape)}`,
      selector.position,
    )
  }
  if (scope.depth >= collectionDepthMax) {
    throw refuseFilter(`any and all nested deeper than ${collectionDepthMax}`, selector.position)
  }
  const isList = 'list' in shape
  const element = isList ? shape.list : shape.map
  // One name is a list's element or a map's key; two are index or key, and value.
  const names: { readonly name: string; readonly shape: Shape; readonly take: 'key' | 'value' }[] =
    second === null
      ? [{ name: first, shape: isList ? element : 'string', take: isList ? 'value' : 'key' }]
      : [
          { name: first, shape: isList ? 'integer' : 'string', take: 'key' },
          { name: second, shape: element, take: 'value' },
        ]
  const used = names.filter(({ name }) => name !== '_')
  const part = compile(expression.part, {
    record: scope.record,
    // The innermost name hides an outer one of the same spelling.
    bindings: [
      ...used.map(({ name, shape }, position) => ({ name, shape, frame: scope.frames + position })),
      ...scope.bindings,
    ],
    frames: scope.frames + used.length,
    depth: scope.depth + 1,
    patterns: scope.patterns,
  })
  return {
    weight: 1 + part.weight * collectionWeight,
    matches(frames) {
      const value = source.read(frames)
      for (const [key, item] of entriesOf(value, isList)) {
        const inner = [...frames, ...used.map(({ take }) => (take === 'key' ? key : item))]
        if (part.matches(inner) === (type === 'any')) return type === 'any'
      }
      return type === 'all'
    },
  }
}

function entriesOf(value: unknown, isList: boolean): Iterable<readonly [unknown, unknown]> {
  if (isList) return Array.isArray(value) ? value.entries() : []
  return mapKeys(value).map((key) => [key, memberOf(value, key)] as const)
}

function resolve(selector: Selector, scope: Scope): Resolved {
  const [head = '', ...tail] = selector.parts
  const binding = scope.bindings.find(({ name }) => name === head)
  const frame = binding?.frame ?? 0
  const parts = binding === undefined ? selector.parts : tail
  let shape: Shape = binding?.shape ?? { record: scope.record }
  for (const part of parts) {
    const member = memberShape(shape, part)
    if (member === null) {
      const known = typeof shape === 'object' && 'record' in shape ? Object.keys(shape.record) : []
      const hint = known.length > 0 ? `; known are ${known.join(', ')}` : ''
      throw refuseFilter(`there is no field ${nameOf(selector)}${hint}`, selector.position)
    }
    shape = member
  }
  return {
    shape,
    read: (frames) => parts.reduce<unknown>((value, part) => memberOf(value, part), frames[frame]),
  }
}

function compileMatch(match: Match, scope: Scope): Predicate {
  const { shape, read } = resolve(match.selector, scope)
  const { weight, matches } = compileTest(match, shape, scope)
  const { negated } = match
  return {
    weight,
    // A value that is not there meets no positive test and every negative one.
    matches: (frames) => {
      const value = read(frames)
      return matches(value) !== negated
    },
  }
}

function compileTest(match: Match, shape: Shape, { patterns }: Scope): ValueTest {
  const { operator, selector } = match
  const text = match.value ?? ''
  const unfit = (what: string) =>
    refuseFilter(`${nameOf(selector)} is ${describeShape(shape)}, ${what}`, selector.position)
  const isCollection = typeof shape === 'object' && !('record' in shape)
  switch (operator) {
    case 'nil':
      return { weight: 1, matches: (value) => value === null || value === undefined }
    case 'empty':
      if (shape !== 'string' && !isCollection) throw unfit('which is never empty')
      return { weight: 1, matches: isEmpty }
    case 'equal':
      if (typeof shape !== 'string') throw unfit('which == and != cannot compare')
      return { weight: 1, matches: compileEqual(shape, text, unfit) }
    case 'contains':
      if (shape === 'string') {
        return {
          weight: 1,
          matches: (value) => typeof value === 'string' && value.includes(text),
        }
      }
      if (typeof shape === 'object' && 'map' in shape) {
        return { weight: 1, matches: (value) => memberOf(value, text) !== undefined }
      }
      if (typeof shape === 'object' && 'list' in shape && typeof shape.list === 'string') {
        const equal = compileEqual(shape.list, text, unfit)
        return { weight: 4, matches: (value) => Array.isArray(value) && value.some(equal) }
      }
      throw unfit('which contains nothing')
    case 'matches': {
      if (shape !== 'string') throw unfit('and only a string can match a pattern')
      const pattern = patternOf(text, selector)
      patterns.states += pattern.steps
      if (patterns.states > patternStatesMax) {
        const problem = `the patterns of a filter need at most ${patternStatesMax} states together`
        throw refuseFilter(problem, selector.position)
      }
      return {
        weight: 1 + pattern.steps,
        matches: (value) => typeof value === 'string' && pattern.test(value),
      }
    }
    default:
      return assertNever(operator)
  }
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true
  if (typeof value === 'string' || Array.isArray(value)) return value.length === 0
  return mapKeys(value).length === 0
}

function patternOf(text: string, selector: Selector) {
  try {
    return compilePattern(text)
  } catch (error) {
    if (!(error instanceof MusterError)) throw error
    throw refuseFilter(textOf(error), selector.position)
  }
}

function compileEqual(
  shape: 'string' | 'integer' | 'unsigned' | 'float' | 'boolean',
  text: string,
  unfit: (what: string) => MusterError,
): (value: unknown) => boolean {
  const shown = JSON.stringify(text.slice(0, 50))
  switch (shape) {
    case 'string':
      return (value) => value === text
    case 'integer':
    case 'unsigned': {
      // As Go reads unsigned numbers: without any sign.
      const isSigned = shape === 'unsigned' && /^[+-]/.test(text)
      const wanted = isSigned ? null : parseInteger(text)
      if (wanted === null) throw unfit(`which cannot be compared with ${shown}`)
      const small = Number(wanted)
      return (value) =>
        typeof value === 'bigint' ? value === wanted : value === small && BigInt(small) === wanted
    }
    case 'float': {
      const wanted = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : NaN
      if (Number.isNaN(wanted)) throw unfit(`which cannot be compared with ${shown}`)
      return (value) => value === wanted
    }
    case 'boolean': {
      const wanted = parseBoolean(text)
      if (typeof wanted !== 'boolean') throw unfit(`which cannot be compared with ${shown}`)
      return (value) => value === wanted
    }
    default:
      return assertNever(shape)
  }
}

/** Go's integer literals: decimal, 0x, 0o or a leading 0, 0b; underscores between digits; at most 64 bits. */
function parseInteger(text: string): bigint | null {
  const written =
    /^([+-]?)(?:(0[xX](?:_?[0-9a-fA-F])+)|(0[bB](?:_?[01])+)|0[oO]?((?:_?[0-7])+)|(0|[1-9](?:_?[0-9])*))$/.exec(
      text,
    )
  if (written === null || text.length > 80) return null
  const [, sign, hex, binary, octal, decimal] = written
  const digits = hex ?? binary ?? (octal === undefined ? decimal : `0o${octal}`) ?? ''
  const value = BigInt(digits.replaceAll('_', ''))
  const signed = sign === '-' ? -value : value
  return signed >= -(2n ** 63n) && signed < 2n ** 64n ? signed : null
}

function nameOf(selector: Selector): string {
  return JSON.stringify(selector.parts.join('.').slice(0, 100))
}
