/** Calls of functions: looked up, their arguments counted, and the few that take expressions themselves. */
import { MusterError } from '../errors.ts'
import type { HclBudget } from '../hcl-budget.ts'
import type { HclPosition, HclValue } from '../hcl.ts'
import type { HclExpression } from '../hcl-tree.ts'
import { converted, typeOf } from '../hcl-type.ts'
import { literal, nameOf } from '../hcl-value.ts'
import { HclCall, type HclArgument, type HclFunction } from './call.ts'
import {
  arityOf,
  functionNames,
  hclFunctions,
  refusedFunctions,
  specialFunctions,
} from './table.ts'

type CallExpression = HclExpression & { readonly type: 'call' }

type Evaluator = {
  readonly budget: HclBudget
  evaluate(expression: HclExpression): HclValue
  fail(message: string, position: HclPosition): never
}

/** An error is made for each expression that has no value, which takes longer than most functions. */
const stepsPerFailure = 50

export function callFunction(expression: CallExpression, evaluator: Evaluator): HclValue {
  const { name, position } = expression
  switch (name) {
    case 'can':
      checkCount(expression, specialFunctions.can, expression.args.length, evaluator)
      return literal(typeof firstValue(expression.args, evaluator) !== 'string', position)
    case 'try': {
      checkCount(expression, specialFunctions.try, expression.args.length, evaluator)
      const value = firstValue(expression.args, evaluator)
      if (typeof value !== 'string') return { ...value, position }
      return evaluator.fail(`try(): no expression has a value; of the last: ${value}`, position)
    }
    case 'convert':
      return convert(expression, evaluator)
    default: {
      const known = hclFunctions.get(name) ?? unknown(name, position, evaluator)
      return run(known, expression, evaluator)
    }
  }
}

function run(known: HclFunction, expression: CallExpression, evaluator: Evaluator): HclValue {
  const { name, position } = expression
  const { budget } = evaluator
  const args = argumentsOf(expression, evaluator)
  checkCount(expression, known.parameters, args.length, evaluator)
  const fail = (message: string, at: HclPosition): never => evaluator.fail(message, at)
  const call = new HclCall({ name, position, args, budget, fail })
  return call.resultOf(known.run(call))
}

function argumentsOf({ args, spread }: CallExpression, evaluator: Evaluator) {
  const read: HclArgument[] = []
  for (const [index, arg] of args.entries()) {
    const { position } = arg
    const value = evaluator.evaluate(arg)
    if (!spread || index < args.length - 1) {
      read.push({ value, position })
      continue
    }
    if (value.type !== 'list') {
      return evaluator.fail(`before ... comes a list, not ${nameOf(value)}`, position)
    }
    evaluator.budget.spend(value.items.length, position)
    for (const item of value.items) read.push({ value: item, position })
  }
  return read
}

function checkCount(
  { name, position }: CallExpression,
  parameters: string,
  count: number,
  evaluator: Evaluator,
): void {
  const { min, max } = arityOf(parameters)
  if (count >= min && count <= max) return
  evaluator.fail(
    `${name}() is called with ${count} arguments: write ${name}(${parameters})`,
    position,
  )
}

function unknown(name: string, position: HclPosition, evaluator: Evaluator): never {
  const refused = Object.hasOwn(refusedFunctions, name) ? refusedFunctions[name] : undefined
  if (refused !== undefined) return evaluator.fail(`${name}() ${refused}`, position)
  return evaluator.fail(
    `there is no function ${name}; there are ${functionNames().join(', ')}`,
    position,
  )
}

/** Of the expressions that have one; else what is wrong with the last of them. */
function firstValue(
  expressions: readonly HclExpression[],
  evaluator: Evaluator,
): HclValue | string {
  const { budget } = evaluator
  const { depth } = budget
  let wrong = ''
  for (const expression of expressions) {
    try {
      return evaluator.evaluate(expression)
    } catch (error) {
      // A budget that is spent stays so.
      const isRefusal = error instanceof MusterError && error.code === 'invalid_argument'
      if (!isRefusal || budget.stopped !== null) throw error
      budget.leaveTo(depth)
      budget.spend(stepsPerFailure, expression.position)
      wrong = error.message
    }
  }
  return wrong
}

function convert(expression: CallExpression, evaluator: Evaluator): HclValue {
  const { args, position } = expression
  checkCount(expression, specialFunctions.convert, args.length, evaluator)
  const [of, wanted] = args
  if (of === undefined || wanted === undefined) throw new Error('the arguments were counted')
  const type = typeOf(wanted, evaluator)
  const value = evaluator.evaluate(of)
  const result = converted(value, type, evaluator)
  if (result !== null) return { ...result, position }
  return evaluator.fail(`convert(): ${nameOf(value)} cannot be made a ${type.kind}`, of.position)
}
