/**
 * Regular expressions that strangers may send: RE2 syntax, matched in time linear in the text, whatever the pattern.
 *
 * V8 has a linear engine behind a flag, but it knows neither letter-case folding nor Unicode classes, and refuses
 * repetition counts from 16 on. So the pattern is parsed here (`parse.ts`), compiled to a small program, and run
 * as a set of states that advances over the text one code point at a time (Thompson's construction as Pike runs it):
 * at most `program length` steps per code point, no recursion, no backtracking, no growth.
 */
import { assertNever } from '../assert.ts'
import { setHas, type CharacterSet } from './class.ts'
import { parseRegex, refuse, type Assertion, type RegexNode } from './parse.ts'

/** States of one compiled pattern; bounds the steps per code point of text. */
export const programLengthMax = 5_000

export type Pattern = {
  readonly source: string
  /** Steps per code point at worst. */
  readonly steps: number
  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean
}

type Instruction =
  | { readonly op: 'set'; readonly set: CharacterSet }
  | { readonly op: 'assert'; readonly kind: Assertion }
  | { readonly op: 'jump'; to: number }
  | { readonly op: 'split'; first: number; second: number }
  | { readonly op: 'match' }

/** Throws `invalid_argument` for what RE2 refuses and for what is over a bound. */
export function compilePattern(source: string): Pattern {
  const program: Instruction[] = []
  emit(program, parseRegex(source))
  push(program, { op: 'match' })
  const machine = new Machine(program)
  return { source, steps: program.length, test: (text) => machine.run(text) }
}

function push(program: Instruction[], instruction: Instruction): void {
  if (program.length >= programLengthMax) {
    throw refuse(`is too large: it needs more than ${programLengthMax} states`)
  }
  program.push(instruction)
}

function emit(program: Instruction[], node: RegexNode): void {
  switch (node.type) {
    case 'empty':
      return
    case 'set':
      return push(program, { op: 'set', set: node.set })
    case 'assert':
      return push(program, { op: 'assert', kind: node.kind })
    case 'concat':
      for (const part of node.parts) emit(program, part)
      return
    case 'alternate':
      return emitAlternate(program, node.parts)
    case 'repeat':
      for (let copy = 0; copy < node.min; copy++) emit(program, node.part)
      if (node.max === null) return emitStar(program, node.part)
      return emitOptional(program, node.part, node.max - node.min)
  }
}

function emitAlternate(program: Instruction[], parts: readonly RegexNode[]): void {
  const jumps: { op: 'jump'; to: number }[] = []
  for (const [position, part] of parts.entries()) {
    if (position === parts.length - 1) {
      emit(program, part)
      continue
    }
    const split = { op: 'split' as const, first: program.length + 1, second: 0 }
    push(program, split)
    emit(program, part)
    const jump = { op: 'jump' as const, to: 0 }
    jumps.push(jump)
    push(program, jump)
    split.second = program.length
  }
  for (const jump of jumps) jump.to = program.length
}

function emitStar(program: Instruction[], part: RegexNode): void {
  const start = program.length
  const split = { op: 'split' as const, first: start + 1, second: 0 }
  push(program, split)
  emit(program, part)
  push(program, { op: 'jump', to: start })
  split.second = program.length
}

/** Up to `copies` times, each only after the one before. */
function emitOptional(program: Instruction[], part: RegexNode, copies: number): void {
  const splits: { op: 'split'; first: number; second: number }[] = []
  for (let copy = 0; copy < copies; copy++) {
    const split = { op: 'split' as const, first: program.length + 1, second: 0 }
    splits.push(split)
    push(program, split)
    emit(program, part)
  }
  for (const split of splits) split.second = program.length
}

class Machine {
  readonly #program: readonly Instruction[]
  /** The generation in which a state was last reached: a state is entered once per position. */
  readonly #reached: Uint32Array
  readonly #stack: Int32Array
  #current: Int32Array
  #next: Int32Array
  #count = 0
  #generation = 0

  constructor(program: readonly Instruction[]) {
    this.#program = program
    this.#reached = new Uint32Array(program.length)
    this.#stack = new Int32Array(program.length * 2 + 2)
    this.#current = new Int32Array(program.length)
    this.#next = new Int32Array(program.length)
  }

  run(text: string): boolean {
    // Generations are 32 bits and one text uses one per code point: start over long before they wrap.
    if (this.#generation > 0x7fff_ffff) {
      this.#reached.fill(0)
      this.#generation = 0
    }
    let position = 0
    let previous = -1
    let waiting = 0
    for (;;) {
      const point = text.codePointAt(position) ?? -1
      this.#generation++
      this.#count = 0
      for (let slot = 0; slot < waiting; slot++) {
        if (this.#enter(this.#current[slot] ?? 0, previous, point)) return true
      }
      if (this.#enter(0, previous, point)) return true
      if (point === -1) return false
      const reached = this.#next
      const count = this.#count
      waiting = 0
      for (let slot = 0; slot < count; slot++) {
        const state = reached[slot] ?? 0
        const instruction = this.#program[state]
        if (instruction?.op === 'set' && setHas(instruction.set, point)) {
          this.#current[waiting++] = state + 1
        }
      }
      position += point > 0xffff ? 2 : 1
      previous = point
    }
  }

  /** Adds every consuming state that can be reached from `state` without a code point; true when a match is among them. */
  #enter(state: number, previous: number, point: number): boolean {
    const stack = this.#stack
    let depth = 0
    stack[depth++] = state
    while (depth > 0) {
      const top = stack[--depth] ?? 0
      if (this.#reached[top] === this.#generation) continue
      this.#reached[top] = this.#generation
      const instruction = this.#program[top]
      switch (instruction?.op) {
        case 'match':
          return true
        case 'set':
          this.#next[this.#count++] = top
          break
        case 'jump':
          stack[depth++] = instruction.to
          break
        case 'split':
          stack[depth++] = instruction.second
          stack[depth++] = instruction.first
          break
        case 'assert':
          if (holds(instruction.kind, previous, point)) stack[depth++] = top + 1
          break
        case undefined:
          break
      }
    }
    return false
  }
}

/** `previous` and `point` are the code points on both sides, -1 at an end of the text. */
function holds(kind: Assertion, previous: number, point: number): boolean {
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
