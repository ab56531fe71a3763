/** Types of HCL, as `list(string)` and `object({ port = number })`: read, and values made to be of them. */
import type { HclBudget } from './hcl-budget.ts'
import type { HclPosition, HclValue } from './hcl.ts'
import type { HclExpression } from './hcl-tree.ts'
import { HclCall } from './hcl-functions/call.ts'
import { setOf } from './hcl-functions/equality.ts'
import { textOf } from './hcl-value.ts'

export type HclType =
  | { readonly kind: 'any' | 'string' | 'number' | 'bool' }
  | { readonly kind: 'list' | 'set' | 'map'; readonly of: HclType }
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, HclType> }
  | { readonly kind: 'tuple'; readonly items: readonly HclType[] }

/** What reads types and converts values. */
type Evaluator = {
  readonly budget: HclBudget
  evaluate(expression: HclExpression): HclValue
  fail(message: string, position: HclPosition): never
}

export function typeOf(expression: HclExpression, evaluator: Evaluator): HclType {
  const wrong = (): never =>
    evaluator.fail(
      'a type is one of string, number, bool, any, list(…), set(…), map(…), object({…}), tuple([…])',
      expression.position,
    )
  if (expression.type === 'reference' && expression.steps.length === 0) {
    const { root } = expression
    if (root === 'string' || root === 'number' || root === 'bool' || root === 'any') {
      return { kind: root }
    }
    if (root === 'list' || root === 'set' || root === 'map') {
      return { kind: root, of: { kind: 'any' } }
    }
    return wrong()
  }
  const [argument] = expression.type === 'call' ? expression.args : []
  if (expression.type !== 'call' || argument === undefined || expression.args.length > 1) {
    return wrong()
  }
  switch (expression.name) {
    case 'list':
    case 'set':
    case 'map':
      return { kind: expression.name, of: typeOf(argument, evaluator) }
    case 'tuple':
      return argument.type === 'list'
        ? { kind: 'tuple', items: argument.items.map((item) => typeOf(item, evaluator)) }
        : wrong()
    case 'object':
      return argument.type === 'object'
        ? {
            kind: 'object',
            members: new Map(
              argument.entries.map(({ key, value }) => [
                textOf(evaluator.evaluate(key)) ?? wrong(),
                typeOf(value, evaluator),
              ]),
            ),
          }
        : wrong()
    default:
      return wrong()
  }
}

/** What takes the place of the value is of this type. Lists may be longer or shorter where all of their items are alike. */
export function typeOfValue(value: HclValue, budget: HclBudget): HclType {
  budget.spend(1, value.position)
  switch (value.type) {
    case 'string':
    case 'number':
      return { kind: value.type }
    case 'boolean':
      return { kind: 'bool' }
    case 'list': {
      const items = value.items.map((item) => typeOfValue(item, budget))
      const [first = { kind: 'any' }] = items
      const kinds = new Set(items.map(({ kind }) => kind))
      const areSimple = items.every(({ kind }) => isSimple(kind))
      if (value.isSet !== true && areSimple && kinds.size > 1) return { kind: 'tuple', items }
      const of: HclType = areSimple && kinds.size === 1 ? first : { kind: 'any' }
      return { kind: value.isSet === true ? 'set' : 'list', of }
    }
    case 'object': {
      if (value.entries.size === 0) return { kind: 'map', of: { kind: 'any' } }
      const members = [...value.entries].map(
        ([name, member]) => [name, typeOfValue(member, budget)] as const,
      )
      return { kind: 'object', members: new Map(members) }
    }
    default:
      return { kind: 'any' }
  }
}

function isSimple(kind: HclType['kind']): boolean {
  return kind === 'string' || kind === 'number' || kind === 'bool'
}

/** null: it is not of the type, and nothing of the type says the same. */
export function converted(value: HclValue, type: HclType, evaluator: Evaluator): HclValue | null {
  const { position } = value
  // A value may hold another one many times over, and each is gone over.
  evaluator.budget.spend(1, position)
  if (type.kind === 'any' || value.type === 'null') return value
  const text = textOf(value)
  switch (type.kind) {
    case 'string':
      return text === null ? null : { type: 'string', value: text, position }
    case 'number': {
      const number = text === null || text.trim() === '' ? Number.NaN : Number(text)
      return Number.isFinite(number) ? { type: 'number', value: number, position } : null
    }
    case 'bool':
      return text === 'true' || text === 'false'
        ? { type: 'boolean', value: text === 'true', position }
        : null
    default:
      break
  }
  if (value.type === 'list') {
    const types = type.kind === 'tuple' ? type.items : null
    const isList = type.kind === 'list' || type.kind === 'set'
    if (!isList && types?.length !== value.items.length) return null
    const items: HclValue[] = []
    for (const [index, item] of value.items.entries()) {
      const wanted = types?.[index] ?? (isList ? type.of : { kind: 'any' as const })
      const one = converted(item, wanted, evaluator)
      if (one === null) return null
      items.push(one)
    }
    const { budget } = evaluator
    const fail = (message: string, at: HclPosition): never => evaluator.fail(message, at)
    return type.kind === 'set'
      ? setOf(items, new HclCall({ name: 'toset', position, args: [], budget, fail }))
      : { type: 'list', items, position }
  }
  if (value.type !== 'object' || (type.kind !== 'map' && type.kind !== 'object')) return null
  const required = 'members' in type ? [...type.members.keys()] : []
  if (required.some((name) => !value.entries.has(name))) return null
  const entries = new Map<string, HclValue>()
  for (const [name, member] of value.entries) {
    const wanted = 'members' in type ? type.members.get(name) : type.of
    // What an object's type does not name is left out, as in the peer.
    if (wanted === undefined) continue
    const entry = converted(member, wanted, evaluator)
    if (entry === null) return null
    entries.set(name, entry)
  }
  return { type: 'object', entries, position }
}
