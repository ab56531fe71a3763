/**
 * The grammar of filter expressions, by recursive descent without a separate lexer: what a blank, a quote or a bare word
 * means depends on where it stands.
 *
 *   or     := and ( "or" and )*              and   := not ( "and" not )*
 *   not    := "not" not | "(" or ")" | ("all" | "any") selector "as" names "{" or "}" | match
 *   match  := selector operator value | selector "is" ["not"] ("empty" | "nil") | value ["not"] "in" selector
 */
import { MusterError } from '../../lib/errors.ts'

export const filterLengthMax = 8_192
export const filterDepthMax = 64
export const filterTermsMax = 256

export type MatchOperator = 'equal' | 'contains' | 'matches' | 'empty' | 'nil'

export type Selector = { readonly parts: readonly string[]; readonly position: number }

export type Match = {
  readonly type: 'match'
  readonly operator: MatchOperator
  readonly negated: boolean
  readonly selector: Selector
  /** null for `empty` and `nil` */
  readonly value: string | null
}

export type Expression =
  | Match
  | { readonly type: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly type: 'not'; readonly part: Expression }
  | {
      readonly type: 'any' | 'all'
      readonly selector: Selector
      /** Names bound inside; null for one that is `_` or not given. */
      readonly first: string
      readonly second: string | null
      readonly part: Expression
    }

const identifier = /[a-zA-Z][a-zA-Z0-9_/]*/y
const blanks = /[ \t\r\n]+/y
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?=[ \t\r\n)}]|$)/y
const quoted = /"(?:[^"\\\n]|\\[^\n])*"/y
const raw = /`[^`]*`/y
const index = /\.([0-9]+)/y
const pointer = /"((?:\/[\p{L}\p{N}\-_.~:|]+)+)"/uy

export function refuseFilter(reason: string, position: number): MusterError {
  return new MusterError('invalid_argument', `filter: ${reason} (at character ${position})`)
}

export function parseFilter(source: string): Expression {
  if (source.length > filterLengthMax) {
    throw new MusterError(
      'invalid_argument',
      `filter: the expression is longer than ${filterLengthMax} characters`,
    )
  }
  return new FilterParser(source).parse()
}

class FilterParser {
  readonly #source: string
  #position = 0
  #depth = 0
  #terms = 0

  constructor(source: string) {
    this.#source = source
  }

  parse(): Expression {
    this.#skip()
    const expression = this.#or()
    this.#skip()
    if (this.#position < this.#source.length) throw this.#expected('"and", "or" or the end')
    return expression
  }

  #or(): Expression {
    return this.#nested(() => {
      let left = this.#and()
      while (this.#connective('or')) left = { type: 'or', left, right: this.#and() }
      return left
    })
  }

  #and(): Expression {
    let left = this.#not()
    while (this.#connective('and')) left = { type: 'and', left, right: this.#not() }
    return left
  }

  #not(): Expression {
    if (this.#take('(')) {
      this.#skip()
      const expression = this.#or()
      this.#skip()
      if (!this.#take(')')) throw this.#expected('a closing )')
      return expression
    }
    const start = this.#position
    if (this.#word('not') && !this.#operatorAhead()) {
      return this.#nested(() => ({ type: 'not', part: this.#not() }))
    }
    this.#position = start
    return this.#collection() ?? this.#match()
  }

  /** `any list as item { … }`; null when a field happens to be called any or all. */
  #collection(): Expression | null {
    const start = this.#position
    const type = this.#word('any') ? 'any' : this.#word('all') ? 'all' : null
    if (type === null) return null
    if (this.#operatorAhead()) {
      this.#position = start
      return null
    }
    const selector = this.#selector()
    if (!this.#skip() || !this.#word('as'))
      throw this.#expected(`" as " after ${type} and its list`)
    const first = this.#boundName()
    let second: string | null = null
    this.#skip()
    if (this.#take(',')) {
      this.#skip()
      second = this.#boundName()
      this.#skip()
    }
    if (!this.#take('{')) throw this.#expected('a {')
    this.#skip()
    const part = this.#or()
    this.#skip()
    if (!this.#take('}')) throw this.#expected('a closing }')
    return { type, selector, first, second, part }
  }

  #boundName(): string {
    if (this.#take('_')) return '_'
    const name = this.#read(identifier)
    if (name === null) throw this.#expected('a name')
    return name
  }

  #match(): Expression {
    if (++this.#terms > filterTermsMax) {
      throw refuseFilter(`more than ${filterTermsMax} comparisons`, this.#position)
    }
    const start = this.#position
    const selector = this.#selectorOrNull()
    const operator = selector === null ? null : this.#operator()
    if (selector !== null && operator !== null) {
      const { name, negated } = operator
      const value = name === 'empty' || name === 'nil' ? null : this.#value()
      return { type: 'match', operator: name, negated, selector, value }
    }
    this.#position = start
    const value = this.#value()
    if (!this.#skip()) throw this.#expected('an operator')
    const negated = this.#word('not')
    if (!this.#word('in')) throw this.#expected('an operator')
    return { type: 'match', operator: 'contains', negated, selector: this.#selector(), value }
  }

  /** An operator that follows a selector, with what it asks for taken up to its value; null when there is none. */
  #operator(): { name: MatchOperator; negated: boolean } | null {
    const start = this.#position
    const blank = this.#skip()
    for (const [text, negated] of [
      ['==', false],
      ['!=', true],
    ] as const) {
      if (this.#take(text)) {
        this.#skip()
        return { name: 'equal', negated }
      }
    }
    if (blank) {
      if (this.#word('is')) {
        const negated = this.#word('not')
        if (this.#take('empty')) return this.#endOfWord({ name: 'empty', negated })
        if (this.#take('nil')) return this.#endOfWord({ name: 'nil', negated })
        throw this.#expected('"empty", "nil", "not empty" or "not nil" after "is"')
      }
      const negated = this.#word('not')
      if (this.#word('contains')) return { name: 'contains', negated }
      if (this.#word('matches')) return { name: 'matches', negated }
    }
    this.#position = start
    return null
  }

  #endOfWord<T>(result: T): T {
    if (/^[a-zA-Z0-9_/]/.test(this.#source.slice(this.#position, this.#position + 1))) {
      throw this.#expected('a blank')
    }
    return result
  }

  /** Whether what was read as a keyword is a field's name after all, because an operator follows. */
  #operatorAhead(): boolean {
    return /^(?:==|!=|(?:not +)?(?:contains|matches|in)[ \t\r\n]|is[ \t\r\n])/.test(
      this.#source.slice(this.#position, this.#position + 40),
    )
  }

  #selector(): Selector {
    const selector = this.#selectorOrNull()
    if (selector === null) throw this.#expected('the name of a field')
    return selector
  }

  #selectorOrNull(): Selector | null {
    const position = this.#position
    const json = this.#read(pointer)
    if (json !== null) {
      const parts = json.slice(2, -1).split('/')
      return {
        parts: parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')),
        position,
      }
    }
    const first = this.#read(identifier)
    if (first === null) return null
    const parts = [first]
    for (;;) {
      const start = this.#position
      const element = this.#read(index)
      if (element !== null) {
        parts.push(element.slice(1))
      } else if (this.#take('.')) {
        const part = this.#read(identifier)
        if (part === null) throw this.#expected('a name after .')
        parts.push(part)
      } else if (this.#take('[')) {
        this.#skip()
        const text = this.#quoted()
        this.#skip()
        if (text === null || !this.#take(']')) {
          this.#position = start
          throw this.#expected('a quoted name and ] after [')
        }
        parts.push(text)
      } else {
        return { parts, position }
      }
    }
  }

  #value(): string {
    const text = this.#quoted()
    if (text !== null) return text
    const digits = this.#read(number)
    if (digits !== null) return digits
    const start = this.#position
    const selector = this.#selectorOrNull()
    if (selector !== null) return this.#source.slice(start, this.#position)
    throw this.#expected('a value: a word, a number, or a text in double or back quotes')
  }

  #quoted(): string | null {
    const literal = this.#read(raw)
    if (literal !== null) return literal.slice(1, -1)
    const start = this.#position
    const text = this.#read(quoted)
    return text === null ? null : unquote(text.slice(1, -1), start)
  }

  #connective(word: string): boolean {
    const start = this.#position
    const blank = this.#skip()
    // `)` and `}` may touch the word that follows them.
    const touches = /[)}]/.test(this.#source[start - 1] ?? '')
    if ((blank || touches) && this.#word(word)) return true
    this.#position = start
    return false
  }

  /** A whole word and the blank that must follow it; `(` may follow directly. */
  #word(word: string): boolean {
    const start = this.#position
    if (this.#take(word) && (this.#skip() || this.#source[this.#position] === '(')) return true
    this.#position = start
    return false
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#position)) return false
    this.#position += text.length
    return true
  }

  #skip(): boolean {
    return this.#read(blanks) !== null
  }

  #read(expression: RegExp): string | null {
    expression.lastIndex = this.#position
    const found = expression.exec(this.#source)
    if (found === null) return null
    this.#position += found[0].length
    return found[0]
  }

  #nested(run: () => Expression): Expression {
    if (++this.#depth > filterDepthMax) {
      throw refuseFilter(`nested deeper than ${filterDepthMax}`, this.#position)
    }
    const expression = run()
    this.#depth--
    return expression
  }

  #expected(what: string): MusterError {
    const rest = this.#source.slice(this.#position, this.#position + 20)
    const found = rest === '' ? 'the end' : JSON.stringify(rest)
    return refuseFilter(`expected ${what}, found ${found}`, this.#position)
  }
}

const goEscape =
  /\\(?:([abfnrtv\\"'])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|)/g

const goControls: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** The escapes of a Go string. `\x` and octal ones above 127 name bytes there; here they name code points. */
function unquote(text: string, position: number): string {
  return text.replaceAll(goEscape, (whole: string, letter?: string, ...rest: unknown[]) => {
    if (letter !== undefined && letter !== "'") return goControls[letter] ?? letter
    const [x, u, upper, octal] = rest.map((part) => (typeof part === 'string' ? part : undefined))
    const point =
      octal === undefined ? Number.parseInt(x ?? u ?? upper ?? '', 16) : Number.parseInt(octal, 8)
    if (!(point >= 0 && point <= 0x10ffff) || (point >= 0xd800 && point <= 0xdfff)) {
      throw refuseFilter(`unknown escape in a quoted text: ${whole}`, position)
    }
    return String.fromCodePoint(point)
  })
}
