/**
 * Regular expressions that strangers may send: RE2 syntax, matched in time linear in the text, whatever the pattern.
 *
 * V8 has a linear engine behind a flag, but it knows neither letter-case folding nor Unicode classes, and refuses
 * repetition counts from 16 on. So the pattern is parsed here (`parse.ts`), compiled to a small program, and run
 * as a set of states that advances over the text one code point at a time (Thompson's construction as Pike runs it):
 * at most `program length` steps per code point, no recursion, no backtracking, no growth.
 */
import { setHas } from './class.ts'
import { parseRegex } from './parse.ts'
import { compileProgram, holds, programLengthMax, type Instruction } from './program.ts'

export type Pattern = {
  readonly source: string
  /** Steps per code point at worst. */
  readonly steps: number
  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean
}

/** Throws `invalid_argument` for what RE2 refuses and for what is over a bound; `statesMax`: below `programLengthMax`. */
export function compilePattern(source: string, statesMax = programLengthMax): Pattern {
  const program = compileProgram(parseRegex(source), { groups: false, statesMax })
  const machine = new Machine(program)
  return { source, steps: program.length, test: (text) => machine.run(text) }
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
        case 'save':
        case undefined:
          break
      }
    }
    return false
  }
}
