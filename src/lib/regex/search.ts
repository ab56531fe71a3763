/**
 * Where a regular expression and its groups match, as RE2 prefers: the leftmost match, and of those that begin there the one that
 * an engine with backtracking finds first. The states advance over the text together, as in `pattern.ts`, in the order of
 * preference; what each has saved is a chain that states share.
 */
import { setHas } from './class.ts'
import { parseRegex, type RegexNode } from './parse.ts'
import { compileProgram, holds, type Instruction } from './program.ts'

/** Ends of groups: of group n, 2n is the begin and 2n + 1 the end; -1: it took no part. Group 0 is the match. */
export type Found = readonly number[]

/** Is told of states as they are entered, one for each; it throws when they are too many. */
export type Spend = (states: number) => void

type Saved = { readonly slot: number; readonly at: number; readonly before: Saved } | null

export class Search {
  /** Names of groups by their index; null: a group without one. */
  readonly groupNames: readonly (string | null)[]
  readonly #program: readonly Instruction[]
  readonly #slots: number
  /** The generation in which a state was last reached: a state is entered once per position, by what is preferred. */
  readonly #reached: Uint32Array
  #generation = 0
  /** States that were reached at the position at hand, and what it took to compare it. */
  #entered = 0

  /** Throws `invalid_argument` for what RE2 refuses and for what is over a bound. */
  constructor(source: string) {
    const tree = parseRegex(source)
    this.groupNames = groupNamesOf(tree)
    this.#slots = (this.groupNames.length + 1) * 2
    this.#program = compileProgram(tree, { groups: true })
    this.#reached = new Uint32Array(this.#program.length)
  }

  /** The first match that begins at `from` or later. */
  first(text: string, from: number, spend: Spend): Found | null {
    let position = from
    let previous = from === 0 ? -1 : pointBefore(text, from)
    let waiting: Thread[] = []
    let best: Saved = null
    let isFound = false
    for (;;) {
      const point = text.codePointAt(position) ?? -1
      this.#startGeneration()
      if (!isFound) waiting.push({ state: 0, saved: { slot: 0, at: position, before: null } })
      const reached: Thread[] = []
      const place = { position, previous, point, reached }
      this.#entered = 0
      for (const thread of waiting) {
        const match = this.#enter(thread, place)
        if (match === null) continue
        // What is behind in the order would only be taken without this match.
        best = match
        isFound = true
        break
      }
      waiting = point === -1 ? [] : this.#advance(reached, point)
      spend(this.#entered)
      if (point === -1 || (isFound && waiting.length === 0)) {
        return isFound ? this.#slotsOf(best) : null
      }
      position += point > 0xffff ? 2 : 1
      previous = point
    }
  }

  /** All matches from left to right. An empty one right behind the match before it is none. */
  *all(text: string, spend: Spend): Generator<Found> {
    let from = 0
    let lastEnd = -1
    while (from <= text.length) {
      const found = this.first(text, from, spend)
      if (found === null) return
      const [begin = 0, end = 0] = found
      if (end > begin || begin !== lastEnd) yield found
      lastEnd = end
      from = end > begin ? end : end + ((text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1)
    }
  }

  #startGeneration(): void {
    // Generations are 32 bits and one text uses one per code point: start over long before they wrap.
    if (this.#generation > 0x7fff_ffff) {
      this.#reached.fill(0)
      this.#generation = 0
    }
    this.#generation++
  }

  #advance(threads: readonly Thread[], point: number): Thread[] {
    const next: Thread[] = []
    for (const { state, saved } of threads) {
      const instruction = this.#program[state]
      if (instruction?.op !== 'set') continue
      const { set } = instruction
      // ASCII is looked up, and everything else compared with each part of the set, as it is and in its other cases.
      if (point > 0x7f) this.#entered += set.items.length * (set.foldCase ? 4 : 1)
      if (setHas(set, point)) next.push({ state: state + 1, saved })
    }
    return next
  }

  /** Adds to `reached` what consumes a code point, the preferred first. Returns what was saved on the way to a match. */
  #enter(thread: Thread, { position, previous, point, reached }: Place): Saved {
    const stack = [thread]
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      const { state, saved } = top
      if (this.#reached[state] === this.#generation) continue
      this.#reached[state] = this.#generation
      this.#entered++
      const instruction = this.#program[state]
      switch (instruction?.op) {
        case 'match':
          return { slot: 1, at: position, before: saved }
        case 'set':
          reached.push(top)
          break
        case 'jump':
          stack.push({ state: instruction.to, saved })
          break
        case 'split':
          stack.push({ state: instruction.second, saved }, { state: instruction.first, saved })
          break
        case 'save':
          stack.push({
            state: state + 1,
            saved: { slot: instruction.slot, at: position, before: saved },
          })
          break
        case 'assert':
          if (holds(instruction.kind, previous, point)) stack.push({ state: state + 1, saved })
          break
        case undefined:
          break
      }
    }
    return null
  }

  /** The last that was saved counts. */
  #slotsOf(saved: Saved): Found {
    const slots = Array.from({ length: this.#slots }, () => -1)
    for (let at = saved; at !== null; at = at.before) {
      if (slots[at.slot] === -1) slots[at.slot] = at.at
    }
    return slots
  }
}

type Thread = { readonly state: number; readonly saved: Saved }

type Place = {
  readonly position: number
  readonly previous: number
  readonly point: number
  readonly reached: Thread[]
}

function pointBefore(text: string, position: number): number {
  const unit = text.charCodeAt(position - 1)
  const isLow = unit >= 0xdc00 && unit <= 0xdfff
  return (isLow && position > 1 ? text.codePointAt(position - 2) : undefined) ?? unit
}

function groupNamesOf(node: RegexNode): readonly (string | null)[] {
  switch (node.type) {
    case 'group':
      return [node.name, ...groupNamesOf(node.part)]
    case 'repeat':
      return groupNamesOf(node.part)
    case 'concat':
    case 'alternate':
      return node.parts.flatMap(groupNamesOf)
    case 'empty':
    case 'set':
    case 'assert':
      return []
  }
}
