/** One call of a function: its arguments as what they must be, what it costs, and its result. */
import type { HclBudget } from '../hcl-budget.ts'
import type { HclPosition, HclValue } from '../hcl.ts'
import { compareTexts, isExact, literal, nameOf, numberOf, textOf } from '../hcl-value.ts'

/**
 * What is known only where a task runs comes as the text that was written, `${attr.cpu.arch}`, and functions work on those
 * letters, as Nomad's do: `format("%s-%s", var.x, "${attr.cpu.arch}")` keeps it whole, and `upper()` of it names something else.
 */
export type HclFunction = {
  /** As people read it: `separator, lists…`. An argument with ? may be missing, and one with … may be there any number of times. */
  readonly parameters: string
  /** What it comes to: for one list of arguments always the same. */
  readonly run: (call: HclCall) => HclValue | string | number | boolean | null
}

export type HclFunctions = Readonly<Record<string, HclFunction>>

export type HclArgument = { readonly value: HclValue; readonly position: HclPosition }

export class HclCall {
  readonly name: string
  readonly position: HclPosition
  readonly #args: readonly HclArgument[]
  readonly #budget: HclBudget
  readonly #fail: (message: string, position: HclPosition) => never

  constructor({
    name,
    position,
    args,
    budget,
    fail,
  }: {
    readonly name: string
    readonly position: HclPosition
    readonly args: readonly HclArgument[]
    readonly budget: HclBudget
    readonly fail: (message: string, position: HclPosition) => never
  }) {
    this.name = name
    this.position = position
    this.#args = args
    this.#budget = budget
    this.#fail = fail
  }

  get count(): number {
    return this.#args.length
  }

  /** `index`: of the argument at fault. */
  fail(message: string, index?: number): never {
    const at = index === undefined ? undefined : this.#args[index]
    return this.#fail(`${this.name}(): ${message}`, at?.position ?? this.position)
  }

  any(index: number): HclValue {
    return this.#args[index]?.value ?? this.fail('an argument is missing')
  }

  isNull(index: number): boolean {
    return this.any(index).type === 'null'
  }

  /** Numbers and booleans are texts too. */
  text(index: number): string {
    const text = textOf(this.any(index)) ?? this.#wrong(index, 'a text')
    this.#budget.read(text.length, this.position)
    return text
  }

  /** A text that is a number is one. */
  number(index: number): number {
    return numberOf(this.any(index)) ?? this.#wrong(index, 'a number')
  }

  whole(index: number, { min, max }: { readonly min: number; readonly max: number }): number {
    const value = this.number(index)
    if (Number.isInteger(value) && value >= min && value <= max) return value
    const least = min === -Number.MAX_SAFE_INTEGER ? 'a whole number' : `a whole number from ${min}`
    const most = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`
    return this.fail(`expected ${least}${most}, found ${value}`, index)
  }

  /** Reading it costs nothing: who goes over it spends. */
  list(index: number): readonly HclValue[] {
    const value = this.any(index)
    return value.type === 'list' ? value.items : this.#wrong(index, 'a list')
  }

  /** A list whose items are texts, numbers or booleans. */
  texts(index: number): readonly string[] {
    return this.list(index).map((item) => {
      const text = textOf(item)
      if (text === null) return this.fail(`expected a list of texts, found ${nameOf(item)}`, index)
      this.#budget.read(text.length, this.position)
      return text
    })
  }

  /** See `list`. */
  object(index: number): ReadonlyMap<string, HclValue> {
    const value = this.any(index)
    return value.type === 'object' ? value.entries : this.#wrong(index, 'an object')
  }

  #wrong(index: number, wanted: string): never {
    return this.fail(`expected ${wanted}, found ${nameOf(this.any(index))}`, index)
  }

  spend(steps: number): void {
    this.#budget.spend(steps, this.position)
  }

  read(letters: number): void {
    this.#budget.read(letters, this.position)
  }

  /** Before a text of so many letters is put together. */
  checkRoom(letters: number): void {
    this.#budget.checkRoom(letters, this.position)
  }

  /** Less than 0: `left` goes first. */
  compare(left: string, right: string): number {
    return compareTexts(left, right, (letters) => this.read(letters))
  }

  /** In order, as Nomad goes over objects. */
  sortedEntries(entries: ReadonlyMap<string, HclValue>): readonly (readonly [string, HclValue])[] {
    return [...entries].sort(([left], [right]) => this.compare(left, right))
  }

  newText(value: string): HclValue {
    this.#budget.grow(value.length, this.position)
    return literal(value, this.position)
  }

  newNumber(value: number): HclValue {
    if (!isExact(value)) return this.fail('there is no exact result')
    // -0 is no number of a file.
    return literal(value === 0 ? 0 : value, this.position)
  }

  newList(items: readonly HclValue[]): HclValue {
    this.spend(items.length)
    return { type: 'list', items, position: this.position }
  }

  newObject(entries: ReadonlyMap<string, HclValue>): HclValue {
    this.spend(entries.size)
    return { type: 'object', entries, position: this.position }
  }

  resultOf(result: HclValue | string | number | boolean | null): HclValue {
    if (typeof result === 'string') return this.newText(result)
    if (typeof result === 'number') return this.newNumber(result)
    if (typeof result === 'boolean' || result === null) return literal(result, this.position)
    return { ...result, position: this.position }
  }
}
