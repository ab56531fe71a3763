/** `variable` blocks of a job file: types, defaults, and the values that the client gives. */
import type { HclBlock, HclValue } from '../../lib/hcl.ts'
import type { HclEvaluator } from '../../lib/hcl-evaluate.ts'
import { parseHclExpressions } from '../../lib/hcl-expression.ts'
import type { HclExpression } from '../../lib/hcl-tree.ts'
import { converted, typeOf, typeOfValue, type HclType } from '../../lib/hcl-type.ts'
import { nameOf, textOf } from '../../lib/hcl-value.ts'

const variablesName = 'variables'

const known = ['type', 'default', 'description', 'sensitive', 'nullable']

/** `variables { a = 1 }`, an older form: each attribute is a variable with that default. */
export function variableBlocksOf(
  blocks: readonly HclBlock<HclExpression>[],
  evaluator: HclEvaluator,
): readonly HclBlock<HclExpression>[] {
  return blocks.flatMap((block) => {
    const { name, labels, body, position } = block
    if (name === 'variable') return [block]
    if (name !== 'variables') return []
    const [nested] = body.blocks
    if (labels.length > 0 || nested !== undefined) {
      const right = 'write variables { name = "default" }, or variable "name" { … }'
      evaluator.fail(
        `variables has neither a name nor blocks: ${right}`,
        nested?.position ?? position,
      )
    }
    return [...body.attributes].map(([label, value]) => {
      const at = body.positions.get(label) ?? position
      const attributes = new Map([['default', value]])
      const positions = new Map([['default', at]])
      return {
        name: 'variable',
        labels: [label],
        body: { attributes, blocks: [], positions },
        position: at,
      }
    })
  })
}

/** `given`: attributes by the names of variables. `evaluator`: of values that refer to no other ones. */
export function variablesOf(
  blocks: readonly HclBlock<HclExpression>[],
  given: string,
  evaluator: HclEvaluator,
): ReadonlyMap<string, HclValue> {
  const body = parseHclExpressions(given, variablesName)
  const [stray] = body.blocks
  if (stray !== undefined) {
    failInValues(evaluator, `${stray.name} must be written as ${stray.name} = …`)
  }
  const values = new Map<string, HclValue>()
  for (const block of blocks) {
    const [name = '', ...more] = block.labels
    if (name === '' || more.length > 0) {
      evaluator.fail('a variable has one name: write variable "name" { … }', block.position)
    }
    if (values.has(name)) evaluator.fail(`the variable ${name} stands twice`, block.position)
    values.set(name, valueOf(block, name, body.attributes.get(name), evaluator))
  }
  for (const name of body.attributes.keys()) {
    if (!values.has(name)) failInValues(evaluator, `the job file has no variable ${name}`)
  }
  return values
}

function failInValues(evaluator: HclEvaluator, text: string): never {
  return evaluator.fail(`of the values of variables: ${text}`, { line: 1, column: 1 })
}

function valueOf(
  { body, position }: HclBlock<HclExpression>,
  name: string,
  given: HclExpression | undefined,
  evaluator: HclEvaluator,
): HclValue {
  const unknown = body.blocks.find((nested) => nested.name !== 'validation')
  if (unknown !== undefined) {
    evaluator.fail(`variable has no ${unknown.name}; it has validation`, unknown.position)
  }
  for (const [attribute, { position: at }] of body.attributes) {
    if (!known.includes(attribute)) {
      evaluator.fail(`variable has no ${attribute}; it has ${known.join(', ')}`, at)
    }
  }
  const typed = body.attributes.get('type')
  const declared = typed === undefined ? null : typeOf(typed, evaluator)
  const otherwise = body.attributes.get('default')
  const expression = given ?? otherwise
  if (expression === undefined) {
    return evaluator.fail(`the variable ${name} has no default and was given no value`, position)
  }
  const value = evaluator.evaluate(expression)
  const type = declared ?? typeOfDefault(given === undefined ? undefined : otherwise, evaluator)
  const inText = written(value, type)
  const typedValue = converted(
    inText === null ? value : evaluator.evaluate(inText),
    type,
    evaluator,
  )
  if (typedValue !== null) return typedValue
  const where = given === undefined ? 'the default of' : 'the value given for'
  const whose = declared === null ? "its default's type" : 'its type'
  return evaluator.fail(
    `${where} the variable ${name} is not of ${whose} ${type.kind}`,
    given === undefined ? expression.position : position,
  )
}

/** Of a variable that says no type, where it is given a value. */
function typeOfDefault(expression: HclExpression | undefined, evaluator: HclEvaluator): HclType {
  if (expression === undefined) return { kind: 'any' }
  return typeOfValue(evaluator.evaluate(expression), evaluator.budget)
}

/** Throws `invalid_argument` with the variable's own sentence where a condition does not hold. `evaluator` knows all names. */
export function checkVariables(
  blocks: readonly HclBlock<HclExpression>[],
  evaluator: HclEvaluator,
): void {
  for (const { labels, body } of blocks) {
    const [name = ''] = labels
    for (const validation of body.blocks) checkValidation(validation, name, evaluator)
  }
}

function checkValidation(
  { labels, body, position }: HclBlock<HclExpression>,
  name: string,
  evaluator: HclEvaluator,
): void {
  const condition = body.attributes.get('condition')
  const message = body.attributes.get('error_message')
  const [nested] = body.blocks
  const hasMore = labels.length > 0 || nested !== undefined || body.attributes.size > 2
  if (condition === undefined || message === undefined || hasMore) {
    return evaluator.fail('write validation { condition = …, error_message = "…" }', position)
  }
  const holds = evaluator.evaluate(condition)
  if (holds.type !== 'boolean') {
    return evaluator.fail(
      `a condition must be true or false, not ${nameOf(holds)}`,
      condition.position,
    )
  }
  if (holds.value) return
  const text = evaluator.evaluate(message)
  const sentence =
    textOf(text) ??
    evaluator.fail(`error_message must be a text, not ${nameOf(text)}`, message.position)
  evaluator.fail(`the value of the variable ${name} is not valid: ${sentence}`, position)
}

/** Where a list or an object is wanted, a text is read as an expression: `["a"]`, as a command line has it. */
function written(value: HclValue, type: HclType): HclExpression | null {
  const isSimple = ['any', 'string', 'number', 'bool'].includes(type.kind)
  if (value.type !== 'string' || isSimple) return null
  const { attributes } = parseHclExpressions(`value = ${value.value}`, variablesName)
  return attributes.get('value') ?? null
}
