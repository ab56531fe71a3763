/**
 * What the expressions of HCL come to, given what names stand for. Pure, and bounded: a short file can make neither a long text
 * nor much work (`hcl-budget.ts`).
 */
import { assertNever } from './assert.ts'
import { HclBudget } from './hcl-budget.ts'
import type { HclPosition, HclValue } from './hcl.ts'
import { callFunction } from './hcl-functions/calling.ts'
import { isSame } from './hcl-functions/equality.ts'
import { failAt } from './hcl-scanner.ts'
import type {
  BinaryOperator,
  ForNames,
  HclExpression,
  HclStep,
  HclTemplatePart,
} from './hcl-tree.ts'
import { isExact, itemsOf, literal, memberOf, nameOf, textOf, type HclItem } from './hcl-value.ts'

export type HclReference = HclExpression & { readonly type: 'reference' }

/** What a reference stands for. null: a name that is not known. */
export type HclScope = (reference: HclReference, around: Around) => Resolved | null

type Around = {
  readonly evaluator: HclEvaluator
  /** It stands alone in a `${…}`. */
  readonly inTemplate: boolean
}

export type Resolved = {
  readonly value: HclValue
  /** Of the reference's steps: how many led to the value. */
  readonly stepsTaken: number
}

/** Names are bound anew for each. */
const stepsPerIteration = 2

type Iterated = {
  readonly names: ForNames
  readonly of: HclExpression
  readonly condition: HclExpression | null
}

export class HclEvaluator {
  readonly #file: string
  readonly #scope: HclScope
  /** Of the whole file. */
  readonly budget: HclBudget

  constructor(file: string, scope: HclScope, budget: HclBudget = new HclBudget(file)) {
    this.#file = file
    this.#scope = scope
    this.budget = budget
  }

  /** With names that stand for values here alone, and go before those of the file. */
  within(names: ReadonlyMap<string, HclValue>): HclEvaluator {
    const scope: HclScope = (reference, around) => {
      const value = names.get(reference.root)
      return value === undefined ? this.#scope(reference, around) : { value, stepsTaken: 0 }
    }
    return new HclEvaluator(this.#file, scope, this.budget)
  }

  /** Throws `invalid_argument` with file, line and column in front of the text. */
  fail(message: string, position: HclPosition): never {
    return failAt(this.#file, position, message)
  }

  evaluate(expression: HclExpression): HclValue {
    const { depth } = this.budget
    this.budget.enter(expression.position)
    const value = this.#evaluate(expression)
    this.budget.leaveTo(depth)
    return value
  }

  #evaluate(expression: HclExpression): HclValue {
    const { position } = expression
    switch (expression.type) {
      case 'literal':
        return literal(expression.value, position)
      case 'template':
        return this.#template(expression.parts, position)
      case 'list':
        return {
          type: 'list',
          items: expression.items.map((item) => this.evaluate(item)),
          position,
        }
      case 'object':
        return this.#object(expression)
      case 'reference':
        return this.#reference(expression, false)
      case 'access':
        return this.#walk(this.evaluate(expression.of), expression.steps)
      case 'call':
        return callFunction(expression, this)
      case 'listFor': {
        const items: HclValue[] = []
        for (const evaluator of this.#iterations(expression)) {
          items.push(evaluator.evaluate(expression.item))
        }
        return { type: 'list', items, position }
      }
      case 'objectFor':
        return this.#objectFor(expression)
      case 'unary':
        return expression.operator === '!'
          ? literal(!this.#boolean(expression.operand), position)
          : this.#finite(-this.#number(expression.operand), position)
      case 'binary':
        return this.#binary(expression.operator, expression)
      case 'condition':
        return this.evaluate(
          this.#boolean(expression.condition) ? expression.whenTrue : expression.whenFalse,
        )
      default:
        return assertNever(expression)
    }
  }

  /** `"${var.list}"` is the list itself. */
  #template(parts: readonly HclTemplatePart[], position: HclPosition): HclValue {
    const [only] = parts
    if (parts.length === 1 && isExpression(only)) return { ...this.#part(only), position }
    return { type: 'string', value: this.#text(parts, position), position }
  }

  #text(parts: readonly HclTemplatePart[], position: HclPosition): string {
    let text = ''
    for (const part of parts) {
      if (typeof part === 'string') {
        this.budget.grow(part.length, position)
        text += part
      } else if (part.type === 'ifPart') {
        text += this.#text(this.#boolean(part.condition) ? part.parts : part.otherwise, position)
      } else if (part.type === 'forPart') {
        for (const evaluator of this.#iterations({ ...part, condition: null })) {
          text += evaluator.#text(part.parts, position)
        }
      } else {
        const value = this.#part(part)
        const piece =
          textOf(value) ?? this.fail(`${nameOf(value)} cannot be part of a text`, part.position)
        this.budget.grow(piece.length, position)
        text += piece
      }
    }
    return text
  }

  #part(part: HclExpression): HclValue {
    return part.type === 'reference' ? this.#reference(part, true) : this.evaluate(part)
  }

  #object({ entries, position }: HclExpression & { readonly type: 'object' }): HclValue {
    const members = new Map<string, HclValue>()
    for (const { key, value } of entries) {
      const name = textOf(this.evaluate(key))
      if (name === null) return this.fail('a key must be a text', key.position)
      if (members.has(name)) this.fail(`${name} is set twice in this object`, key.position)
      members.set(name, this.evaluate(value))
    }
    return { type: 'object', entries: members, position }
  }

  #objectFor(expression: HclExpression & { readonly type: 'objectFor' }): HclValue {
    const { key, item, grouped, position } = expression
    const entries = new Map<string, HclValue>()
    const groups = new Map<string, HclValue[]>()
    for (const evaluator of this.#iterations(expression)) {
      const name = textOf(evaluator.evaluate(key))
      if (name === null) return this.fail('a key must be a text', key.position)
      if (!grouped && entries.has(name)) {
        this.fail(`there are two ${name}: write ... behind the value to have lists`, key.position)
      }
      const value = evaluator.evaluate(item)
      const group = groups.get(name) ?? []
      if (grouped) groups.set(name, group)
      group.push(value)
      entries.set(name, grouped ? { type: 'list', items: group, position } : value)
    }
    return { type: 'object', entries, position }
  }

  /** An evaluator for each item for which the condition holds. */
  *#iterations({ names, of, condition }: Iterated): Generator<HclEvaluator> {
    for (const { key, value } of this.itemsOf(of)) {
      const evaluator = this.within(boundTo(names, key, value))
      if (condition === null || evaluator.#boolean(condition)) yield evaluator
    }
  }

  /** In the order in which a list has them, or an object has its keys. */
  itemsOf(expression: HclExpression): readonly HclItem[] {
    const { position } = expression
    const value = this.evaluate(expression)
    const items = itemsOf(value, (letters) => this.budget.read(letters, position))
    if (items === null) {
      return this.fail(`expected a list or an object, found ${nameOf(value)}`, position)
    }
    this.budget.spend(items.length * stepsPerIteration, position)
    return items
  }

  #reference(reference: HclReference, inTemplate: boolean): HclValue {
    const found = this.#scope(reference, { evaluator: this, inTemplate })
    if (found === null) {
      const { source } = reference
      return this.fail(
        `${source} is no value; write text in quotes, as in "${source}"`,
        reference.position,
      )
    }
    const value = this.#walk(found.value, reference.steps.slice(found.stepsTaken))
    return { ...value, position: reference.position }
  }

  #walk(start: HclValue, steps: readonly HclStep[]): HclValue {
    let at = start
    for (const step of steps) {
      const { position } = step
      if (step.key === null) {
        at = this.#splat(at, step.each, position)
        continue
      }
      const index = typeof step.key === 'string' ? step.key : textOf(this.evaluate(step.key))
      const next = index === null ? undefined : memberOf(at, index)
      if (next === undefined) {
        return this.fail(`${nameOf(at)} has no ${JSON.stringify(index)}`, position)
      }
      at = next
    }
    return at
  }

  /** What is no list is a list of itself, and null an empty one. */
  #splat(of: HclValue, steps: readonly HclStep[], position: HclPosition): HclValue {
    const items = of.type === 'list' ? of.items : of.type === 'null' ? [] : [of]
    this.budget.spend(items.length * (steps.length + 1), position)
    return { type: 'list', items: items.map((item) => this.#walk(item, steps)), position }
  }

  #binary(operator: BinaryOperator, sides: HclExpression & { readonly type: 'binary' }): HclValue {
    const { left, right, position } = sides
    switch (operator) {
      case '&&':
        return literal(this.#boolean(left) && this.#boolean(right), position)
      case '||':
        return literal(this.#boolean(left) || this.#boolean(right), position)
      case '==':
        return literal(this.#equal(sides), position)
      case '!=':
        return literal(!this.#equal(sides), position)
      case '<':
        return literal(this.#number(left) < this.#number(right), position)
      case '<=':
        return literal(this.#number(left) <= this.#number(right), position)
      case '>':
        return literal(this.#number(left) > this.#number(right), position)
      case '>=':
        return literal(this.#number(left) >= this.#number(right), position)
      case '+':
        return this.#finite(this.#number(left) + this.#number(right), position)
      case '-':
        return this.#finite(this.#number(left) - this.#number(right), position)
      case '*':
        return this.#finite(this.#number(left) * this.#number(right), position)
      case '/':
        return this.#finite(this.#number(left) / this.#number(right), position)
      case '%':
        return this.#finite(this.#number(left) % this.#number(right), position)
      default:
        return assertNever(operator)
    }
  }

  #equal({ left, right }: HclExpression & { readonly type: 'binary' }): boolean {
    return isSame(this.evaluate(left), this.evaluate(right), (letters) =>
      this.budget.read(letters, left.position),
    )
  }

  #boolean(expression: HclExpression): boolean {
    const value = this.evaluate(expression)
    if (value.type === 'boolean') return value.value
    return this.fail(`expected true or false, found ${nameOf(value)}`, expression.position)
  }

  #number(expression: HclExpression): number {
    const value = this.evaluate(expression)
    if (value.type === 'number') return value.value
    return this.fail(`expected a number, found ${nameOf(value)}`, expression.position)
  }

  #finite(value: number, position: HclPosition): HclValue {
    if (!isExact(value)) {
      return this.fail('this calculation has no exact result', position)
    }
    // -0 is no number of a file.
    return { type: 'number', value: value === 0 ? 0 : value, position }
  }
}

function isExpression(part: HclTemplatePart | undefined): part is HclExpression {
  return typeof part === 'object' && part.type !== 'ifPart' && part.type !== 'forPart'
}

function boundTo({ key: keyName, value: valueName }: ForNames, key: HclValue, value: HclValue) {
  const names = new Map<string, HclValue>()
  if (keyName !== null) names.set(keyName, key)
  return names.set(valueName, value)
}
