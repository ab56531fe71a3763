/**
 * HCL whose values are computed: the grammar of expressions, as a tree. References (`var.x`), templates with their directives, lists,
 * objects, `for`, calls, splats, operators and conditions; what they come to is `hcl-evaluate.ts`. Bodies and blocks are those of `hcl.ts`.
 */
import { checkDepth, parseHclWith, type HclBody, type HclPosition } from './hcl.ts'
import { nestDirectives, type Directive } from './hcl-directives.ts'
import type { HclScanner } from './hcl-scanner.ts'
import type { BinaryOperator, ForNames, HclEntry, HclExpression, HclStep } from './hcl-tree.ts'

/** Operators of one value: the tree of a chain is as deep as the chain is long. Of items beside one another the most count. */
export const operatorsMax = 100

/** The loosest first; of those that begin alike, the longer first. */
const levels: readonly (readonly BinaryOperator[])[] = [
  ['||'],
  ['&&'],
  ['==', '!='],
  ['<=', '>=', '<', '>'],
  ['+', '-'],
  ['*', '/', '%'],
]

/** Throws `invalid_argument` with `file:line:column` and what would be right. */
export function parseHclExpressions(text: string, file: string): HclBody<HclExpression> {
  return parseHclWith(text, file, (scanner, depth) => new Expression(scanner).read(depth))
}

/** One value, from its first letter to its last. */
class Expression {
  readonly #scanner: HclScanner
  /** Brackets that are open: between them a newline is a blank. */
  #open = 0
  #operators = 0

  constructor(scanner: HclScanner) {
    this.#scanner = scanner
  }

  read(depth: number): HclExpression {
    const scanner: HclScanner = this.#scanner
    checkDepth(scanner, depth)
    const position = scanner.position()
    const condition = this.#binary(depth, 0)
    this.#blank()
    if (!scanner.takeIf('?')) return condition
    this.#blank()
    const whenTrue = this.read(depth + 1)
    this.#blank()
    if (!scanner.takeIf(':')) {
      scanner.fail(`a condition is written as a ? b : c; found ${scanner.describeNext()}`)
    }
    this.#blank()
    const whenFalse = this.read(depth + 1)
    return { type: 'condition', condition, whenTrue, whenFalse, position }
  }

  #blank(): void {
    if (this.#open > 0) this.#scanner.skipBlank()
    else this.#scanner.skipSpace()
  }

  #binary(depth: number, level: number): HclExpression {
    const operators = levels[level]
    if (operators === undefined) return this.#unary(depth)
    let left = this.#binary(depth, level + 1)
    for (;;) {
      this.#blank()
      const position = this.#scanner.position()
      const operator = operators.find((word) => this.#scanner.takeIf(word))
      if (operator === undefined) return left
      this.#operators += 1
      if (this.#operators > operatorsMax) {
        this.#scanner.fail(`one value has at most ${operatorsMax} operators`, position)
      }
      this.#blank()
      const right = this.#binary(depth, level + 1)
      left = { type: 'binary', operator, left, right, position }
    }
  }

  #unary(depth: number): HclExpression {
    const scanner: HclScanner = this.#scanner
    checkDepth(scanner, depth)
    const position = scanner.position()
    const operator = scanner.peek()
    const isNumber = operator === '-' && scanner.lookingAtNumber()
    if ((operator !== '-' && operator !== '!') || isNumber) return this.#withSteps(depth)
    scanner.takeIf(operator)
    this.#blank()
    return { type: 'unary', operator, operand: this.#unary(depth + 1), position }
  }

  #withSteps(depth: number): HclExpression {
    const scanner: HclScanner = this.#scanner
    const position = scanner.position()
    const start = scanner.offset()
    const isParenthesized = scanner.peek() === '('
    const of = this.#operand(depth)
    const steps = this.#steps(depth)
    if (of.type === 'reference' && !isParenthesized)
      return { ...of, steps, source: scanner.textSince(start) }
    return steps.length === 0 ? of : { type: 'access', of, steps, position }
  }

  #steps(depth: number): readonly HclStep[] {
    const scanner: HclScanner = this.#scanner
    checkDepth(scanner, depth)
    const steps: HclStep[] = []
    for (;;) {
      const position = scanner.position()
      if (scanner.takeIf('[')) {
        this.#open += 1
        scanner.skipBlank()
        const key = scanner.takeIf('*') ? null : this.read(depth + 1)
        scanner.skipBlank()
        if (!scanner.takeIf(']')) {
          scanner.fail(`an index ends with ], not with ${scanner.describeNext()}`)
        }
        this.#open -= 1
        if (key !== null) {
          steps.push({ key, position })
          continue
        }
        // All that follows is of each item.
        return [...steps, { key, each: this.#steps(depth + 1), position }]
      }
      if (scanner.lookingAt('.*')) {
        scanner.takeIf('.*')
        // Only names are of each item: an index behind them is one of the list of all.
        steps.push({ key: null, each: this.#nameSteps(), position })
        continue
      }
      const key = this.#nameStep()
      if (key === null) return steps
      steps.push({ key, position })
    }
  }

  #nameSteps(): readonly HclStep[] {
    const steps: HclStep[] = []
    for (;;) {
      const position = this.#scanner.position()
      const key = this.#scanner.lookingAt('.*') ? null : this.#nameStep()
      if (key === null) return steps
      steps.push({ key, position })
    }
  }

  /** `.name`, or null if none comes next; three dots belong to what is around. */
  #nameStep(): string | null {
    const scanner: HclScanner = this.#scanner
    if (scanner.lookingAt('...') || !scanner.takeIf('.')) return null
    const key = scanner.name() ?? scanner.digits()
    return key ?? scanner.fail(`after the dot comes a name, not ${scanner.describeNext()}`)
  }

  #operand(depth: number): HclExpression {
    const scanner: HclScanner = this.#scanner
    const position = scanner.position()
    const letter = scanner.peek()
    if (letter === '"') {
      return this.#template(scanner.quotedParts(this.#interpolation(depth)), position)
    }
    if (scanner.lookingAt('<<')) {
      return this.#template(scanner.heredocParts(this.#interpolation(depth)), position)
    }
    if (letter === '[' || letter === '{') return this.#collection(depth, letter)
    if (letter === '(') return this.#parenthesized(depth)
    const number = scanner.number()
    if (number !== null) return { type: 'literal', value: number, position }
    const word = scanner.name()
    if (word === null) scanner.fail(`expected a value, found ${scanner.describeNext()}`, position)
    if (word === 'true' || word === 'false') {
      return { type: 'literal', value: word === 'true', position }
    }
    if (word === 'null') return { type: 'literal', value: null, position }
    if (scanner.takeIf('(')) {
      const { items: args, spread } = this.#items(depth, position, ')')
      return { type: 'call', name: word, args, spread, position }
    }
    return { type: 'reference', root: word, steps: [], source: word, position }
  }

  #interpolation(depth: number) {
    const before = this.#operators
    let most = before
    return (scanner: HclScanner, start: HclPosition, sign: '$' | '%') => {
      this.#open += 1
      this.#operators = before
      scanner.skipBlank()
      const part = sign === '$' ? this.read(depth + 1) : this.#directive(depth, start)
      scanner.skipBlank()
      most = Math.max(most, this.#operators)
      this.#operators = most
      this.#open -= 1
      return part
    }
  }

  #directive(depth: number, position: HclPosition): Directive {
    const scanner: HclScanner = this.#scanner
    if (scanner.takeWord('if')) {
      scanner.skipBlank()
      return { type: 'if', condition: this.read(depth + 1), position }
    }
    if (scanner.takeWord('for')) {
      const names = this.#forNames()
      return { type: 'for', names, of: this.read(depth + 1), position }
    }
    const type = (['else', 'endif', 'endfor'] as const).find((word) => scanner.takeWord(word))
    if (type !== undefined) return { type, position }
    return scanner.fail(
      'there are %{ if … }, %{ else }, %{ endif }, %{ for v in x } and %{ endfor }; write %%{ for the text %{',
      position,
    )
  }

  #template(
    parts: readonly (string | HclExpression | Directive)[],
    position: HclPosition,
  ): HclExpression {
    const texts = parts.filter((part) => typeof part === 'string')
    if (texts.length === parts.length) return { type: 'literal', value: texts.join(''), position }
    const fail = (message: string, at: HclPosition): never => this.#scanner.fail(message, at)
    return { type: 'template', parts: nestDirectives(parts, fail), position }
  }

  #parenthesized(depth: number): HclExpression {
    const scanner: HclScanner = this.#scanner
    const start = scanner.position()
    scanner.takeIf('(')
    this.#open += 1
    scanner.skipBlank()
    const expression = this.read(depth + 1)
    scanner.skipBlank()
    if (!scanner.takeIf(')')) scanner.fail('this ( is never closed with )', start)
    this.#open -= 1
    return expression
  }

  #collection(depth: number, bracket: '[' | '{'): HclExpression {
    const scanner: HclScanner = this.#scanner
    const position = scanner.position()
    scanner.takeIf(bracket)
    scanner.skipBlank()
    if (scanner.takeWord('for')) return this.#for(depth, position, bracket)
    return bracket === '['
      ? { type: 'list', items: this.#items(depth, position, ']').items, position }
      : { type: 'object', entries: this.#entries(depth, position), position }
  }

  /** Behind the word `for`. */
  #for(depth: number, position: HclPosition, bracket: '[' | '{'): HclExpression {
    const scanner: HclScanner = this.#scanner
    const isObject = bracket === '{'
    const form = isObject ? '{ for k, v in x : k => v }' : '[for v in x : v]'
    const expect = (word: string): void => {
      scanner.skipBlank()
      if (!scanner.takeIf(word)) {
        scanner.fail(`write ${form}: expected ${word}, found ${scanner.describeNext()}`)
      }
    }
    this.#open += 1
    const names = this.#forNames()
    const of = this.read(depth + 1)
    expect(':')
    scanner.skipBlank()
    const first = this.read(depth + 1)
    if (isObject) expect('=>')
    scanner.skipBlank()
    const item = isObject ? this.read(depth + 1) : first
    scanner.skipBlank()
    const grouped = isObject && scanner.takeIf('...')
    scanner.skipBlank()
    const isFiltered = scanner.takeWord('if')
    scanner.skipBlank()
    const condition = isFiltered ? this.read(depth + 1) : null
    expect(isObject ? '}' : ']')
    this.#open -= 1
    return isObject
      ? { type: 'objectFor', names, of, key: first, item, grouped, condition, position }
      : { type: 'listFor', names, of, item, condition, position }
  }

  /** `v in` or `k, v in`. */
  #forNames(): ForNames {
    const scanner: HclScanner = this.#scanner
    const name = (): string => {
      scanner.skipBlank()
      const word = scanner.name()
      return word ?? scanner.fail(`behind for comes a name, not ${scanner.describeNext()}`)
    }
    const first = name()
    scanner.skipBlank()
    const second = scanner.takeIf(',') ? name() : null
    scanner.skipBlank()
    if (!scanner.takeWord('in')) {
      scanner.fail(
        `write for v in x, or for k, v in x: expected in, found ${scanner.describeNext()}`,
      )
    }
    scanner.skipBlank()
    return second === null ? { key: null, value: first } : { key: first, value: second }
  }

  /** Behind the bracket. `spread`: the last argument of a call has three dots behind it. */
  #items(
    depth: number,
    start: HclPosition,
    last: ']' | ')',
  ): { readonly items: readonly HclExpression[]; readonly spread: boolean } {
    const scanner: HclScanner = this.#scanner
    const first = last === ']' ? '[' : '('
    this.#open += 1
    const before = this.#operators
    let most = before
    const items: HclExpression[] = []
    let spread = false
    for (;;) {
      scanner.skipBlank()
      if (scanner.takeIf(last)) break
      if (spread) scanner.fail(`behind ... comes ${last}, not ${scanner.describeNext()}`)
      if (scanner.atEnd()) scanner.fail(`this ${first} is never closed with ${last}`, start)
      this.#operators = before
      items.push(this.read(depth + 1))
      most = Math.max(most, this.#operators)
      scanner.skipBlank()
      spread = first === '(' && scanner.takeIf('...')
      if (spread) scanner.skipBlank()
      if (scanner.takeIf(',') || scanner.peek() === last) continue
      if (scanner.atEnd()) scanner.fail(`this ${first} is never closed with ${last}`, start)
      scanner.fail(`items of a list are separated by commas, found ${scanner.describeNext()}`)
    }
    this.#open -= 1
    this.#operators = most
    return { items, spread }
  }

  /** Behind the brace. */
  #entries(depth: number, start: HclPosition): readonly HclEntry[] {
    const scanner: HclScanner = this.#scanner
    const open = this.#open
    const before = this.#operators
    let most = before
    const entries: HclEntry[] = []
    for (;;) {
      scanner.skipBlank()
      if (scanner.takeIf('}')) break
      if (scanner.atEnd()) scanner.fail('this object is never closed with }', start)
      this.#operators = before
      const key = this.#key(depth)
      most = Math.max(most, this.#operators)
      scanner.skipSpace()
      if (!scanner.takeIf('=') && !scanner.takeIf(':')) {
        scanner.fail(`after a key comes = and a value, not ${scanner.describeNext()}`)
      }
      scanner.skipSpace()
      // A newline ends an entry, also within brackets further out.
      this.#open = 0
      this.#operators = before
      entries.push({ key, value: this.read(depth + 1) })
      most = Math.max(most, this.#operators)
      this.#open = open
      scanner.skipSpace()
      if (scanner.takeIf(',') || scanner.takeNewline() || scanner.peek() === '}') continue
      if (scanner.atEnd()) scanner.fail('this object is never closed with }', start)
      scanner.fail(`expected a comma or the end of the line, found ${scanner.describeNext()}`)
    }
    this.#operators = most
    return entries
  }

  /** A name stands for itself. */
  #key(depth: number): HclExpression {
    const scanner: HclScanner = this.#scanner
    const position = scanner.position()
    if (scanner.peek() === '"') {
      return this.#template(scanner.quotedParts(this.#interpolation(depth)), position)
    }
    if (scanner.peek() === '(') return this.#parenthesized(depth)
    const key = scanner.name() ?? scanner.digits()
    if (key === null) scanner.fail(`expected a key, found ${scanner.describeNext()}`)
    return { type: 'literal', value: key, position }
  }
}
