/** A template as a tree: `if`, `else if`, `with`, `range`, `break`, `continue`, variables, pipes of calls. */
import { refuse, scanTemplate, type Piece, type Token } from './scan.ts'

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
  | { readonly type: 'print'; readonly pipe: Pipe; readonly assignment: Assignment | null }
  | {
      readonly type: 'if' | 'with' | 'range'
      readonly pipe: Pipe
      readonly assignment: Assignment | null
      readonly body: readonly Node[]
      readonly otherwise: readonly Node[]
    }
  | { readonly type: 'break' | 'continue' }

const depthMax = 100
const supported = 'if, else, with, range, break, continue and end'

export function parseTemplate(template: string): readonly Node[] {
  const pieces = scanTemplate(template)
  const position = { at: 0 }
  const nodes = parseNodes(pieces, position, { depth: 0, ranges: 0 })
  if (position.at < pieces.length) refuse('an {{end}} or {{else}} closes nothing')
  return nodes
}

type Position = { at: number }
type Nesting = { readonly depth: number; readonly ranges: number }

/** Up to the `end` or `else` that belongs to a block outside, which is left. */
function parseNodes(pieces: readonly Piece[], position: Position, nesting: Nesting): Node[] {
  if (nesting.depth > depthMax) refuse(`it nests deeper than ${depthMax}`)
  const nodes: Node[] = []
  for (;;) {
    const piece = pieces[position.at]
    if (piece === undefined) return nodes
    if (piece.type === 'text') {
      nodes.push(piece)
      position.at += 1
      continue
    }
    const [first, ...rest] = piece.tokens
    const word = first?.type === 'word' ? first.word : ''
    if (word === 'end' || word === 'else') return nodes
    position.at += 1
    switch (word) {
      case 'if':
      case 'with':
      case 'range':
        nodes.push(parseBlock(word, rest, pieces, position, nesting))
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
        const reader = new Reader(piece.tokens)
        const assignment = reader.assignment()
        nodes.push({ type: 'print', assignment, pipe: reader.wholePipe() })
      }
    }
  }
}

function parseBlock(
  type: 'if' | 'with' | 'range',
  tokens: readonly Token[],
  pieces: readonly Piece[],
  position: Position,
  nesting: Nesting,
): Node {
  const reader = new Reader(tokens)
  const assignment = reader.assignment()
  if (assignment !== null && assignment.names.length > (type === 'range' ? 2 : 1)) {
    refuse(`{{${type}}} sets too many variables`)
  }
  const pipe = reader.wholePipe()
  const inside = {
    depth: nesting.depth + 1,
    ranges: nesting.ranges + (type === 'range' ? 1 : 0),
  }
  const body = parseNodes(pieces, position, inside)
  const otherwise = parseElse(type, pieces, position, { ...nesting, depth: inside.depth })
  return { type, pipe, assignment, body, otherwise }
}

function parseElse(
  type: 'if' | 'with' | 'range',
  pieces: readonly Piece[],
  position: Position,
  nesting: Nesting,
): readonly Node[] {
  const piece = pieces[position.at]
  if (piece === undefined || piece.type === 'text') return refuse(`a {{${type}}} lacks its {{end}}`)
  position.at += 1
  const [first, second, ...rest] = piece.tokens
  if (first?.type === 'word' && first.word === 'end') {
    if (second !== undefined) refuse(`${piece.source} says too much`)
    return []
  }
  if (second === undefined) {
    const otherwise = parseNodes(pieces, position, nesting)
    const end = pieces[position.at]
    const last = end?.type === 'action' ? end.tokens[0] : undefined
    if (last?.type !== 'word' || last.word !== 'end') refuse(`an {{else}} lacks its {{end}}`)
    position.at += 1
    return otherwise
  }
  if (second.type === 'word' && (second.word === 'if' || second.word === 'with')) {
    return [parseBlock(second.word, rest, pieces, position, nesting)]
  }
  return refuse(`${piece.source}: after else comes nothing, or if`)
}

class Reader {
  readonly #tokens: readonly Token[]
  #at = 0
  #depth = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
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
    const stages = [this.#stage()]
    while (this.#takeSign('|')) stages.push(this.#stage())
    this.#depth -= 1
    return stages
  }

  #stage(): Operand {
    const next = this.#tokens[this.#at]
    if (next?.type === 'word' && !constants.has(next.word)) {
      this.#at += 1
      const args: Operand[] = []
      for (let arg = this.#operand(); arg !== null; arg = this.#operand()) args.push(arg)
      return { type: 'call', name: next.word, args }
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
          : { type: 'call', name: next.word, args: [] }
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
