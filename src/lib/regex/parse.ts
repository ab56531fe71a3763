/**
 * RE2 syntax to a tree. What RE2 refuses is refused here: backreferences, look-around, repetition counts over 1,000
 * (also when nested ones multiply), repeated repetition operators, unknown escapes and classes.
 */
import { MusterError } from '../errors.ts'
import {
  makeSet,
  perlClasses,
  posixClasses,
  range,
  unicodeProperty,
  type CharacterSet,
  type SetItem,
} from './class.ts'

export const patternLengthMax = 1_000
export const groupDepthMax = 100
export const repeatMax = 1_000

export type Assertion =
  | 'textStart'
  | 'textEnd'
  | 'lineStart'
  | 'lineEnd'
  | 'wordBoundary'
  | 'notWordBoundary'

export type RegexNode =
  | { readonly type: 'empty' }
  | { readonly type: 'set'; readonly set: CharacterSet }
  | { readonly type: 'assert'; readonly kind: Assertion }
  | { readonly type: 'concat'; readonly parts: readonly RegexNode[] }
  | { readonly type: 'alternate'; readonly parts: readonly RegexNode[] }
  | {
      readonly type: 'repeat'
      readonly part: RegexNode
      readonly min: number
      /** null: no upper end */
      readonly max: number | null
      /** As few times as possible. */
      readonly lazy: boolean
    }
  | {
      readonly type: 'group'
      readonly part: RegexNode
      /** Counts from 1, by opening parentheses. */
      readonly index: number
      readonly name: string | null
    }

type Flags = { readonly i: boolean; readonly m: boolean; readonly s: boolean; readonly U: boolean }

const any = makeSet([range(0, 0x10ffff)])
const notNewline = makeSet([range(10)], { negated: true })

export function refuse(reason: string): MusterError {
  return new MusterError('invalid_argument', `the regular expression ${reason}`)
}

export function parseRegex(source: string): RegexNode {
  if (source.length > patternLengthMax) {
    throw refuse(`is longer than ${patternLengthMax} characters`)
  }
  return new RegexParser(source).parse()
}

class RegexParser {
  readonly #source: string
  #position = 0
  #depth = 0
  #flags: Flags = { i: false, m: false, s: false, U: false }
  #groups = 0
  readonly #groupNames = new Set<string>()

  constructor(source: string) {
    this.#source = source
  }

  parse(): RegexNode {
    const node = this.#alternatives()
    if (this.#position < this.#source.length) throw this.#refuse('has a ) without its (')
    checkRepeats(node, repeatMax)
    return node
  }

  #alternatives(): RegexNode {
    const parts = [this.#sequence()]
    while (this.#take('|')) parts.push(this.#sequence())
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { type: 'alternate', parts }
  }

  #sequence(): RegexNode {
    const parts: RegexNode[] = []
    /** What a repetition operator may follow: nothing at the start, a part, or an operator (refused). */
    let before: 'nothing' | 'part' | 'operator' = 'nothing'
    for (;;) {
      const next = this.#peek()
      if (next === '' || next === '|' || next === ')') break
      const count = this.#repetition()
      if (count !== null) {
        const part = parts.pop()
        if (before === 'operator') throw this.#refuse('repeats a repetition operator')
        if (part === undefined || before === 'nothing') {
          throw this.#refuse('has a repetition operator with nothing to repeat')
        }
        const lazy = this.#take('?') !== this.#flags.U
        parts.push({ type: 'repeat', part, ...count, lazy })
        before = 'operator'
        continue
      }
      if (this.#take('\\Q')) {
        const end = this.#source.indexOf('\\E', this.#position)
        const literal = this.#source.slice(this.#position, end < 0 ? undefined : end)
        this.#position = end < 0 ? this.#source.length : end + 2
        for (const character of literal) {
          parts.push(this.#literal(character.codePointAt(0) ?? 0))
          before = 'part'
        }
        continue
      }
      const part = this.#atom()
      if (part === null) continue
      parts.push(part)
      before = 'part'
    }
    if (parts.length === 0) return { type: 'empty' }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { type: 'concat', parts }
  }

  /** The operator at hand, or null. `{` that starts no count is a plain character. */
  #repetition(): { min: number; max: number | null } | null {
    if (this.#take('*')) return { min: 0, max: null }
    if (this.#take('+')) return { min: 1, max: null }
    if (this.#take('?')) return { min: 0, max: 1 }
    if (this.#peek() !== '{') return null
    const counted = /^\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\}/.exec(this.#source.slice(this.#position))
    if (counted === null) return null
    const min = Number(counted[1])
    const max =
      counted[2] === undefined ? min : counted[3] === undefined ? null : Number(counted[3])
    if (min > repeatMax || (max !== null && (max > repeatMax || max < min))) {
      throw this.#refuse(`has the repeat count ${counted[0].slice(0, 20)}, at most ${repeatMax}`)
    }
    this.#position += counted[0].length
    return { min, max }
  }

  /** null: something without a place of its own, as `(?i)`. */
  #atom(): RegexNode | null {
    const character = this.#next()
    switch (character) {
      case '(':
        return this.#group()
      case '[':
        return { type: 'set', set: this.#class() }
      case '.':
        return { type: 'set', set: this.#flags.s ? any : notNewline }
      case '^':
        return { type: 'assert', kind: this.#flags.m ? 'lineStart' : 'textStart' }
      case '$':
        return { type: 'assert', kind: this.#flags.m ? 'lineEnd' : 'textEnd' }
      case '\\':
        return this.#escape()
      default:
        return this.#literal(character.codePointAt(0) ?? 0)
    }
  }

  #group(): RegexNode | null {
    const outer = this.#flags
    let name: string | null = null
    let captures = true
    if (this.#take('?')) {
      const named = /^P?<([^>]*)>/.exec(this.#source.slice(this.#position))
      if (/^<[=!]|^[=!]/.test(this.#source.slice(this.#position))) {
        throw this.#refuse('uses look-around, which RE2 syntax does not have')
      }
      if (named !== null) {
        name = named[1] ?? ''
        if (!/^\w+$/.test(name)) throw this.#refuse('has a bad group name')
        if (this.#groupNames.has(name)) throw this.#refuse('uses a group name twice')
        this.#groupNames.add(name)
        this.#position += named[0].length
      } else if (this.#setFlags() === ')') {
        return null
      } else {
        captures = false
      }
    }
    const index = captures ? ++this.#groups : 0
    if (++this.#depth > groupDepthMax) {
      throw this.#refuse(`nests groups deeper than ${groupDepthMax}`)
    }
    const part = this.#alternatives()
    if (!this.#take(')')) throw this.#refuse('has a ( without its )')
    this.#depth--
    this.#flags = outer
    return captures ? { type: 'group', part, index, name } : part
  }

  /** Reads `i-s:` or `i-s)`; returns how it ended. */
  #setFlags(): ':' | ')' {
    const written = /^([imsU]*)(?:-([imsU]+))?([:)])/.exec(this.#source.slice(this.#position))
    if (written === null || (written[3] === ')' && written[0] === ')')) {
      throw this.#refuse('has an unknown kind of group after (?')
    }
    this.#position += written[0].length
    const flags = { ...this.#flags }
    for (const flag of written[1] ?? '') flags[flag as keyof Flags] = true
    for (const flag of written[2] ?? '') flags[flag as keyof Flags] = false
    this.#flags = flags
    return written[3] === ')' ? ')' : ':'
  }

  #escape(): RegexNode {
    const letter = this.#peek()
    const assertions: Readonly<Record<string, Assertion>> = {
      A: 'textStart',
      z: 'textEnd',
      b: 'wordBoundary',
      B: 'notWordBoundary',
    }
    const kind = Object.hasOwn(assertions, letter) ? assertions[letter] : undefined
    if (kind !== undefined) {
      this.#position++
      return { type: 'assert', kind }
    }
    const items = this.#classEscape()
    if (items !== null) return { type: 'set', set: makeSet(items, { foldCase: this.#flags.i }) }
    return this.#literal(this.#escapedPoint())
  }

  /** `\d`, `\pL` and the like after the backslash, or null. */
  #classEscape(): SetItem[] | null {
    const letter = this.#peek()
    const perl = perlClasses.get(letter.toLowerCase())
    if (perl !== undefined) {
      this.#position++
      const negated = letter !== letter.toLowerCase()
      return [{ type: 'set', set: makeSet(perl, { negated }) }]
    }
    if (letter !== 'p' && letter !== 'P') return null
    this.#position++
    const written = /^(?:\{(\^?)([^}]*)\}|([A-Z]))/.exec(this.#source.slice(this.#position))
    const property = unicodeProperty(written?.[2] ?? written?.[3] ?? '')
    if (written === null || property === undefined) {
      throw this.#refuse('names a Unicode class that does not exist')
    }
    this.#position += written[0].length
    return [{ type: 'property', property, negated: (letter === 'P') !== (written[1] === '^') }]
  }

  /** The code point that the rest of an escape stands for. */
  #escapedPoint(): number {
    const rest = this.#source.slice(this.#position, this.#position + 12)
    const hex = /^x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,8})\})/.exec(rest)
    // \1 to \7 alone would be references to groups; with more digits they are octal.
    const octal = /^(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(rest)
    const controls: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }
    const letter = this.#next()
    if (hex !== null) {
      this.#position += hex[0].length - 1
      const point = Number.parseInt(hex[1] ?? hex[2] ?? '', 16)
      if (point > 0x10ffff) throw this.#refuse('names a code point over 10FFFF')
      return point
    }
    if (octal !== null) {
      this.#position += octal[0].length - 1
      return Number.parseInt(octal[0], 8)
    }
    if (Object.hasOwn(controls, letter)) return controls[letter] ?? 0
    if (letter === '') throw this.#refuse('ends in a backslash')
    if (/[1-9]/.test(letter)) {
      throw this.#refuse('uses a reference to a group, which RE2 syntax does not have')
    }
    if (/^[!-/:-@[-`{-~ ]$/.test(letter)) return letter.codePointAt(0) ?? 0
    throw this.#refuse(`has the unknown escape \\${letter}`)
  }

  #class(): CharacterSet {
    const negated = this.#take('^')
    const items: SetItem[] = []
    let first = true
    while (first || this.#peek() !== ']') {
      first = false
      if (this.#peek() === '') throw this.#refuse('has a [ without its ]')
      const posix = /^\[:(\^?)([a-z]+):\]/.exec(this.#source.slice(this.#position))
      if (posix !== null) {
        const named = posixClasses.get(posix[2] ?? '')
        if (named === undefined) throw this.#refuse(`has the unknown class ${posix[0]}`)
        this.#position += posix[0].length
        items.push({ type: 'set', set: makeSet(named, { negated: posix[1] === '^' }) })
        continue
      }
      if (this.#peek() === '\\') {
        this.#position++
        const escaped = this.#classEscape()
        if (escaped !== null) {
          items.push(...escaped)
          continue
        }
        this.#position--
      }
      const low = this.#classPoint()
      let high = low
      if (this.#peek() === '-' && !['', ']'].includes(this.#source[this.#position + 1] ?? '')) {
        this.#position++
        high = this.#classPoint()
        if (high < low) throw this.#refuse('has a range in [] that runs backwards')
      }
      items.push(range(low, high))
    }
    this.#position++
    return makeSet(items, { negated, foldCase: this.#flags.i })
  }

  #classPoint(): number {
    if (this.#take('\\')) return this.#escapedPoint()
    const character = this.#next()
    if (character === '') throw this.#refuse('has a [ without its ]')
    return character.codePointAt(0) ?? 0
  }

  #literal(point: number): RegexNode {
    return { type: 'set', set: makeSet([range(point)], { foldCase: this.#flags.i }) }
  }

  #peek(): string {
    return this.#source[this.#position] ?? ''
  }

  /** The next code point as text, taken; '' at the end. */
  #next(): string {
    const point = this.#source.codePointAt(this.#position)
    if (point === undefined) return ''
    const text = String.fromCodePoint(point)
    this.#position += text.length
    return text
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#position)) return false
    this.#position += text.length
    return true
  }

  #refuse(reason: string): MusterError {
    return refuse(`${reason} (at character ${Math.min(this.#position, this.#source.length)})`)
  }
}

/** Nested counts multiply: what one character stands for may not exceed what a single count may ask for. */
function checkRepeats(node: RegexNode, budget: number): void {
  switch (node.type) {
    case 'repeat': {
      const copies = Math.max(node.min, node.max ?? 0, 1)
      if (copies > budget) throw refuse(`has repeat counts that multiply to over ${repeatMax}`)
      return checkRepeats(node.part, Math.floor(budget / copies))
    }
    case 'group':
      return checkRepeats(node.part, budget)
    case 'concat':
    case 'alternate':
      for (const part of node.parts) checkRepeats(part, budget)
      return
    case 'empty':
    case 'set':
    case 'assert':
  }
}
