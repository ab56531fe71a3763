/** `variable` blocks of a job file: types, defaults, and the values that the client gives. */
import type { HclBlock, HclValue } from '../../lib/hcl.ts'
import { textOf, type HclEvaluator } from '../../lib/hcl-evaluate.ts'
import { parseHclExpressions, type HclExpression } from '../../lib/hcl-expression.ts'

const variablesName = 'variables'

type VariableType =
  | { readonly kind: 'any' | 'string' | 'number' | 'bool' }
  | { readonly kind: 'list' | 'map'; readonly of: VariableType }
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, VariableType> }
  | { readonly kind: 'tuple'; readonly items: readonly VariableType[] }

const known = ['type', 'default', 'description', 'sensitive', 'nullable']

/** `given`: attributes by the names of variables. */
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
  const [nested] = body.blocks
  if (nested !== undefined) {
    evaluator.fail(`${nested.name} of a variable is not evaluated here`, nested.position)
  }
  for (const [attribute, { position: at }] of body.attributes) {
    if (!known.includes(attribute)) {
      evaluator.fail(`variable has no ${attribute}; it has ${known.join(', ')}`, at)
    }
  }
  const typed = body.attributes.get('type')
  const type: VariableType = typed === undefined ? { kind: 'any' } : typeOf(typed, evaluator)
  const written = given ?? body.attributes.get('default')
  if (written === undefined) {
    return evaluator.fail(`the variable ${name} has no default and was given no value`, position)
  }
  const value = converted(evaluator.evaluate(written), type, evaluator)
  if (value !== null) return value
  const where = given === undefined ? 'the default of' : 'the value given for'
  return evaluator.fail(
    `${where} the variable ${name} is not of its type ${type.kind}`,
    given === undefined ? written.position : position,
  )
}

function typeOf(expression: HclExpression, evaluator: HclEvaluator): VariableType {
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
    if (root === 'list' || root === 'set') return { kind: 'list', of: { kind: 'any' } }
    if (root === 'map') return { kind: 'map', of: { kind: 'any' } }
    return wrong()
  }
  const [argument] = expression.type === 'call' ? expression.args : []
  if (expression.type !== 'call' || argument === undefined || expression.args.length > 1) {
    return wrong()
  }
  switch (expression.name) {
    case 'list':
    case 'set':
      return { kind: 'list', of: typeOf(argument, evaluator) }
    case 'map':
      return { kind: 'map', of: typeOf(argument, evaluator) }
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

/** null: it is not of the type, and nothing of the type says the same. */
function converted(value: HclValue, type: VariableType, evaluator: HclEvaluator): HclValue | null {
  const { position } = value
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
  if (value.type === 'string') return convertedText(value.value, type, evaluator)
  if (value.type === 'list') {
    const types = type.kind === 'tuple' ? type.items : null
    if (type.kind !== 'list' && types?.length !== value.items.length) return null
    const items = value.items.map((item, index) =>
      converted(
        item,
        types?.[index] ?? (type.kind === 'list' ? type.of : { kind: 'any' }),
        evaluator,
      ),
    )
    return items.every((item) => item !== null) ? { type: 'list', items, position } : null
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

/** `["a"]` as text, as a command line has it. */
function convertedText(text: string, type: VariableType, evaluator: HclEvaluator): HclValue | null {
  const parsed = parseHclExpressions(`value = ${text}`, variablesName).attributes.get('value')
  const value = parsed === undefined ? null : evaluator.evaluate(parsed)
  if (value === null || value.type === 'string') return null
  return converted(value, type, evaluator)
}
