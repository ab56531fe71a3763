/**
 * What the evaluation of one file may cost. Clients send files, and a short one can ask for much: everything that evaluates
 * pays here before it works, and what cannot be paid ends the evaluation of the whole file.
 */
import { MusterError } from './errors.ts'
import type { HclPosition } from './hcl.ts'
import { failAt } from './hcl-scanner.ts'

/**
 * A step is about what an expression, an item or a comparison takes, some 0.2 to 1 µs: all of them together take less than it takes to
 * parse the largest file. A job has at most 100,000 values, and a key and its value are two steps.
 */
export const evaluationStepsMax = 250_000
/** Letters that all templates and functions of a file come to. */
export const evaluatedLengthMax = 4 * 1024 * 1024
/** Expressions that are evaluated for one another, also by way of locals: each takes a part of the call stack. */
export const evaluationDepthMax = 500
/** Letters that are read in one step. */
const lettersPerStep = 64

export class HclBudget {
  readonly #file: string
  readonly #stepsMax: number
  readonly #lettersMax: number
  #steps = 0
  #letters = 0
  #depth = 0
  #stopped: MusterError | null = null

  constructor(
    file: string,
    { steps, letters }: { readonly steps: number; readonly letters: number } = {
      steps: evaluationStepsMax,
      letters: evaluatedLengthMax,
    },
  ) {
    this.#file = file
    this.#stepsMax = steps
    this.#lettersMax = letters
  }

  /** Set once a file cannot be evaluated, whatever `try()` would take instead. */
  get stopped(): MusterError | null {
    return this.#stopped
  }

  get depth(): number {
    return this.#depth
  }

  /** Before an expression is evaluated; `leaveTo` the depth of before follows, also where a failure is caught. */
  enter(position: HclPosition): void {
    this.#depth += 1
    if (this.#depth > evaluationDepthMax) {
      this.stop(`over ${evaluationDepthMax} expressions are evaluated for one another`, position)
    }
    this.spend(1, position)
  }

  leaveTo(depth: number): void {
    this.#depth = depth
  }

  spend(steps: number, position: HclPosition): void {
    this.#steps += steps
    if (this.#steps > this.#stepsMax) {
      this.stop(`to evaluate this file takes over ${this.#stepsMax} steps`, position)
    }
  }

  /** `letters` of a text are looked at. */
  read(letters: number, position: HclPosition): void {
    this.spend(1 + Math.floor(letters / lettersPerStep), position)
  }

  /** A text is made: ask before it is, where it may be long. */
  grow(letters: number, position: HclPosition): void {
    this.#letters += letters
    this.checkRoom(0, position)
    this.read(letters, position)
  }

  /** Whether so many letters could still be made. */
  checkRoom(letters: number, position: HclPosition): void {
    if (this.#letters + letters > this.#lettersMax) {
      this.stop(
        `all templates and functions together come to over ${this.#lettersMax} letters`,
        position,
      )
    }
  }

  /** As a failure, and for good. */
  stop(message: string, position: HclPosition): never {
    try {
      return failAt(this.#file, position, message)
    } catch (error) {
      if (error instanceof MusterError) this.#stopped ??= error
      throw error
    }
  }
}
