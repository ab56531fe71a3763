/** A template as a tree: `if`, `else if`, `with`, `range`, `break`, `continue`, variables, pipes of calls. */
import { refuse, toldAt } from './fault.ts'
import {
  delimsDefault,
  scanTemplate,
  type Delims,
  type Piece,
  type Position,
  type Token,
} from './scan.ts'

export type Operand =
  | { readonly type: 'value'; readonly value: null | boolean | number | bigint | string }
  | { readonly type: 'field'; readonly path: readonly string[] }
  | { readonly type: 'variable'; readonly name: string; readonly path: readonly string[] }
  | { readonly type: 'call'; readonly name: string; readonly args: readonly Operand[] }
  /** The path leads on from the pipe's value. */
  | { readonly type: 'pipe'; readonly pipe: Pipe; readonly path: readonly string[] }

/** Each stage's value becomes the last argument of the next. */
export type Pipe = readonly Operand[]

export type Assignment = { readonly names: readonly string[]; readonly declares: boolean }

export type Node =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'print'
      readonly line: number
      readonly pipe: Pipe
      readonly assignment: Assignment | null
    }
  | {
      readonly type: 'if' | 'with' | 'range'
      readonly line: number
      readonly pipe: Pipe
      readonly assignment: Assignment | null
      readonly body: readonly Node[]
      readonly otherwise: readonly Node[]
    }
  | { readonly type: 'break' | 'continue' }

const depthMax = 100
const supported = 'if, else, with, range, break, continue and end'

/** How many arguments a function takes. */
export type Arity = { readonly argsMin: number; readonly argsMax: number }

export type ParseOptions = {
  /** That the template may call, by their names. */
  readonly functions: Readonly<Record<string, Arity>>
  readonly delims?: Delims
  readonly lengthMax?: number
  /** Begins an error. */
  readonly what?: string
}

/** Letters of a whole template. */
const templateLengthMax = 64 * 1024

/** `and` and `or` leave arguments unlooked at, so they are no functions. */
const logic: ReadonlySet<string> = new Set(['and', 'or'])
const logicArity: Arity = { argsMin: 1, argsMax: 64 }

/** Throws `invalid_argument` with the line. */
export function parseTemplate(template: string, options: ParseOptions): readonly Node[] {
  const { lengthMax = templateLengthMax, delims = delimsDefault, what = 'the template' } = options
  const position: Position = { at: 0, line: 1 }
  return toldAt(
    what,
    () => position.line,
    () => {
      if (template.length > lengthMax) refuse(`it is longer than ${lengthMax} letters`)
      const pieces = scanTemplate(template, delims, position)
      position.line = 1
      const parser = new Parser(pieces, options.functions, position)
      return parser.whole()
    },
  )
}

type Nesting = { readonly depth: number; readonly ranges: number }

class Parser {
  readonly #pieces: readonly Piece[]
  readonly #functions: ParseOptions['functions']
  readonly #position: Position

  constructor(pieces: readonly Piece[], functions: ParseOptions['functions'], position: Position) {
    this.#pieces = pieces
    this.#functions = functions
    this.#position = position
  }

  whole(): readonly Node[] {
    const nodes = this.#nodes({ depth: 0, ranges: 0 })
    if (this.#next() !== undefined) refuse('an {{end}} or {{else}} closes nothing')
    return nodes
  }

  /** Its line is where a fault is. */
  #next(): Piece | undefined {
    const piece = this.#pieces[this.#position.at]
    if (piece?.type === 'action') this.#position.line = piece.line
    return piece
  }

  /** Up to the `end` or `else` that belongs to a block outside, which is left. */
  #nodes(nesting: Nesting): Node[] {
    if (nesting.depth > depthMax) refuse(`it nests deeper than ${depthMax}`)
    const nodes: Node[] = []
    for (;;) {
      const piece = this.#next()
      if (piece === undefined) return nodes
      if (piece.type === 'text') {
        nodes.push(piece)
        this.#position.at += 1
        continue
      }
      const [first, ...rest] = piece.tokens
      const word = first?.type === 'word' ? first.word : ''
      if (word === 'end' || word === 'else') return nodes
      this.#position.at += 1
      const { line } = piece
      switch (word) {
        case 'if':
        case 'with':
        case 'range':
          nodes.push(this.#block(word, rest, line, nesting))
          break
        case 'break':
        case 'continue':
          if (nesting.ranges === 0) refuse(`{{${word}}} stands outside of any range`)
          nodes.push({ type: word })
          break
        case 'define':
        case 'template':
        case 'block':
          refuse(`{{${word}}} is not supported; there are ${supported}`)
        default: {
          const reader = new Reader(piece.tokens, this.#functions)
          const assignment = reader.assignment()
          nodes.push({ type: 'print', line, assignment, pipe: reader.wholePipe() })
        }
      }
    }
  }

  #block(
    type: 'if' | 'with' | 'range',
    tokens: readonly Token[],
    line: number,
    nesting: Nesting,
  ): Node {
    const reader = new Reader(tokens, this.#functions)
    const assignment = reader.assignment()
    if (assignment !== null && assignment.names.length > (type === 'range' ? 2 : 1)) {
      refuse(`{{${type}}} sets too many variables`)
    }
    const pipe = reader.wholePipe()
    const inside = {
      depth: nesting.depth + 1,
      ranges: nesting.ranges + (type === 'range' ? 1 : 0),
    }
    const body = this.#nodes(inside)
    const otherwise = this.#else(type, line, { ...nesting, depth: inside.depth })
    return { type, line, pipe, assignment, body, otherwise }
  }

  #else(type: 'if' | 'with' | 'range', line: number, nesting: Nesting): readonly Node[] {
    const piece = this.#next()
    if (piece === undefined || piece.type === 'text') {
      this.#position.line = line
      return refuse(`a {{${type}}} lacks its {{end}}`)
    }
    this.#position.at += 1
    const [first, second, ...rest] = piece.tokens
    if (first?.type === 'word' && first.word === 'end') {
      if (second !== undefined) refuse(`${piece.source} says too much`)
      return []
    }
    if (second === undefined) {
      const otherwise = this.#nodes(nesting)
      const end = this.#next()
      const last = end?.type === 'action' ? end.tokens[0] : undefined
      if (last?.type !== 'word' || last.word !== 'end') refuse(`an {{else}} lacks its {{end}}`)
      this.#position.at += 1
      return otherwise
    }
    if (second.type === 'word' && (second.word === 'if' || second.word === 'with')) {
      return [this.#block(second.word, rest, piece.line, nesting)]
    }
    return refuse(`${piece.source}: after else comes nothing, or if`)
  }
}

class Reader {
  readonly #tokens: readonly Token[]
  readonly #functions: ParseOptions['functions']
  #at = 0
  #depth = 0

  constructor(tokens: readonly Token[], functions: ParseOptions['functions']) {
    this.#tokens = tokens
    this.#functions = functions
  }

  /** `$x :=`, `$x =`, `$i, $x :=`; null when the tokens begin otherwise, and nothing is taken. */
  assignment(): Assignment | null {
    const names: string[] = []
    let at = 0
    for (;;) {
      const variable = this.#tokens[at]
      if (variable?.type !== 'variable' || variable.path.length > 0) return null
      names.push(variable.name)
      const sign = this.#tokens[at + 1]
      if (sign?.type !== 'sign') return null
      at += 2
      if (sign.sign === ',') continue
      if (sign.sign !== ':=' && sign.sign !== '=') return null
      this.#at = at
      return { names, declares: sign.sign === ':=' }
    }
  }

  wholePipe(): Pipe {
    const pipe = this.#pipe()
    if (this.#at < this.#tokens.length) refuse('a parenthesis or a comma stands where none belongs')
    return pipe
  }

  #pipe(): Pipe {
    this.#depth += 1
    if (this.#depth > depthMax) refuse(`it nests deeper than ${depthMax}`)
    const stages = [this.#stage(0)]
    while (this.#takeSign('|')) {
      const stage = this.#stage(1)
      if (stage.type !== 'call') refuse('after | comes a function')
      stages.push(stage)
    }
    this.#depth -= 1
    return stages
  }

  /** `piped`: arguments that come from the stage before. */
  #stage(piped: number): Operand {
    const next = this.#tokens[this.#at]
    if (next?.type === 'word' && !constants.has(next.word)) {
      this.#at += 1
      const args: Operand[] = []
      for (let arg = this.#operand(); arg !== null; arg = this.#operand()) args.push(arg)
      return this.#call(next.word, args, piped)
    }
    const only = this.#operand()
    if (only === null) return refuse('a value is missing between {{ and }}, or beside a |')
    if (this.#operand() !== null) refuse('only functions take arguments: what stands first is none')
    return only
  }

  #operand(): Operand | null {
    const next = this.#tokens[this.#at]
    if (next === undefined) return null
    switch (next.type) {
      case 'field':
      case 'variable':
        this.#at += 1
        return next
      case 'text':
        this.#at += 1
        return { type: 'value', value: next.text }
      case 'number':
        this.#at += 1
        return { type: 'value', value: next.value }
      case 'word':
        this.#at += 1
        return constants.has(next.word)
          ? { type: 'value', value: constants.get(next.word) ?? null }
          : this.#call(next.word, [], 0)
      case 'chain':
        return null
      case 'sign': {
        if (!this.#takeSign('(')) return null
        const pipe = this.#pipe()
        if (!this.#takeSign(')')) refuse('a ( lacks its )')
        const chain = this.#tokens[this.#at]
        if (chain?.type !== 'chain') return { type: 'pipe', pipe, path: [] }
        this.#at += 1
        return { type: 'pipe', pipe, path: chain.path }
      }
    }
  }

  #call(name: string, args: readonly Operand[], piped: number): Operand {
    const own = Object.hasOwn(this.#functions, name) ? this.#functions[name] : undefined
    const arity = logic.has(name) ? logicArity : own
    if (arity === undefined) {
      const names = [...logic, ...Object.keys(this.#functions)].sort()
      return refuse(`there is no function ${name}; there are ${names.join(', ')}`)
    }
    const count = args.length + piped
    if (count < arity.argsMin || count > arity.argsMax) {
      refuse(`${name} does not take ${count} arguments`)
    }
    return { type: 'call', name, args }
  }

  #takeSign(sign: string): boolean {
    const next = this.#tokens[this.#at]
    if (next?.type !== 'sign' || next.sign !== sign) return false
    this.#at += 1
    return true
  }
}

const constants: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['nil', null],
])
