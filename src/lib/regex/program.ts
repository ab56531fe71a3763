/**
 * The program that a regular expression is compiled to: what `pattern.ts` runs to test a text, and `search.ts` to find where
 * the expression and its groups match.
 */
import { assertNever } from '../assert.ts'
import type { CharacterSet } from './class.ts'
import { refuse, type Assertion, type RegexNode } from './parse.ts'

/** States of one compiled pattern; bounds the steps per code point of text. */
export const programLengthMax = 5_000

export type Instruction =
  | { readonly op: 'set'; readonly set: CharacterSet }
  | { readonly op: 'assert'; readonly kind: Assertion }
  | { readonly op: 'jump'; to: number }
  /** `first` is preferred. */
  | { readonly op: 'split'; first: number; second: number }
  /** The place in the text is an end of a group: of group n, 2n is the begin and 2n + 1 the end. */
  | { readonly op: 'save'; readonly slot: number }
  | { readonly op: 'match' }

export type ProgramOptions = {
  /** With instructions that save where groups begin and end. */
  readonly groups: boolean
  /** Default: `programLengthMax`. */
  readonly statesMax?: number
}

/** Throws `invalid_argument` over the bound. */
export function compileProgram(
  node: RegexNode,
  { groups, statesMax = programLengthMax }: ProgramOptions,
): readonly Instruction[] {
  const compiler = new Compiler(groups, statesMax)
  compiler.emit(node)
  compiler.push({ op: 'match' })
  return compiler.program
}

class Compiler {
  readonly program: Instruction[] = []
  readonly #groups: boolean
  readonly #statesMax: number

  constructor(groups: boolean, statesMax: number) {
    this.#groups = groups
    this.#statesMax = statesMax
  }

  push(instruction: Instruction): void {
    if (this.program.length >= this.#statesMax) {
      throw refuse(`is too large: it needs more than ${this.#statesMax} states`)
    }
    this.program.push(instruction)
  }

  emit(node: RegexNode): void {
    switch (node.type) {
      case 'empty':
        return
      case 'set':
        return this.push({ op: 'set', set: node.set })
      case 'assert':
        return this.push({ op: 'assert', kind: node.kind })
      case 'concat':
        for (const part of node.parts) this.emit(part)
        return
      case 'alternate':
        return this.#alternate(node.parts)
      case 'group':
        if (this.#groups) this.push({ op: 'save', slot: node.index * 2 })
        this.emit(node.part)
        if (this.#groups) this.push({ op: 'save', slot: node.index * 2 + 1 })
        return
      case 'repeat':
        for (let copy = 0; copy < node.min; copy++) this.emit(node.part)
        if (node.max === null) return this.#star(node.part, node.lazy)
        return this.#optional(node.part, node.max - node.min, node.lazy)
    }
  }

  #alternate(parts: readonly RegexNode[]): void {
    const jumps: { op: 'jump'; to: number }[] = []
    for (const [position, part] of parts.entries()) {
      if (position === parts.length - 1) {
        this.emit(part)
        continue
      }
      const split = { op: 'split' as const, first: this.program.length + 1, second: 0 }
      this.push(split)
      this.emit(part)
      const jump = { op: 'jump' as const, to: 0 }
      jumps.push(jump)
      this.push(jump)
      split.second = this.program.length
    }
    for (const jump of jumps) jump.to = this.program.length
  }

  #star(part: RegexNode, lazy: boolean): void {
    const start = this.program.length
    const split = { op: 'split' as const, first: start + 1, second: start + 1 }
    this.push(split)
    this.emit(part)
    this.push({ op: 'jump', to: start })
    split[lazy ? 'first' : 'second'] = this.program.length
  }

  /** Up to `copies` times, each only after the one before. */
  #optional(part: RegexNode, copies: number, lazy: boolean): void {
    const splits: { op: 'split'; first: number; second: number }[] = []
    for (let copy = 0; copy < copies; copy++) {
      const next = this.program.length + 1
      const split = { op: 'split' as const, first: next, second: next }
      splits.push(split)
      this.push(split)
      this.emit(part)
    }
    for (const split of splits) split[lazy ? 'first' : 'second'] = this.program.length
  }
}

/** `previous` and `point` are the code points on both sides, -1 at an end of the text. */
export function holds(kind: Assertion, previous: number, point: number): boolean {
  switch (kind) {
    case 'textStart':
      return previous === -1
    case 'textEnd':
      return point === -1
    case 'lineStart':
      return previous === -1 || previous === 10
    case 'lineEnd':
      return point === -1 || point === 10
    case 'wordBoundary':
      return isWord(previous) !== isWord(point)
    case 'notWordBoundary':
      return isWord(previous) === isWord(point)
    default:
      return assertNever(kind)
  }
}

function isWord(point: number): boolean {
  return (
    (point >= 48 && point <= 57) ||
    (point >= 65 && point <= 90) ||
    point === 95 ||
    (point >= 97 && point <= 122)
  )
}
