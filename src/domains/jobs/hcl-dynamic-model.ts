/** `dynamic "port" { for_each = …, content { … } }` of a job file: a block for each item, written out. */
import type { HclBlock, HclValue } from '../../lib/hcl.ts'
import type { HclEvaluator } from '../../lib/hcl-evaluate.ts'
import type { HclExpression } from '../../lib/hcl-tree.ts'
import { nameOf, textOf } from '../../lib/hcl-value.ts'

type Block = HclBlock<HclExpression>

/** A block that is written out, and the evaluator that knows its item. */
export type Expanded = { readonly block: Block; readonly evaluator: HclEvaluator }

/** To read an empty block takes longer than to evaluate an expression. */
const stepsPerBlock = 10
const known = ['for_each', 'iterator', 'labels']

/** Throws `invalid_argument` where the block is not what it must be. What is dynamic in its content is not written out yet. */
export function* expandDynamic(
  { labels, body, position }: Block,
  evaluator: HclEvaluator,
): Generator<Expanded> {
  const form = 'write dynamic "name" { for_each = …, content { … } }'
  const [name, ...more] = labels
  const [content, ...others] = body.blocks
  const items = body.attributes.get('for_each')
  if (name === undefined || more.length > 0) {
    return evaluator.fail(`dynamic has one name, that of a block: ${form}`, position)
  }
  for (const [attribute, at] of body.positions) {
    if (body.attributes.has(attribute) && !known.includes(attribute)) {
      evaluator.fail(`dynamic has no ${attribute}; it has content, ${known.join(', ')}`, at)
    }
  }
  if (content?.name !== 'content' || content.labels.length > 0 || others.length > 0) {
    const at = content?.name === 'content' ? (others[0] ?? content) : content
    return evaluator.fail(`dynamic has one block, content: ${form}`, at?.position ?? position)
  }
  if (items === undefined) return evaluator.fail(`dynamic has no for_each: ${form}`, position)
  const iterator = iteratorOf(body.attributes.get('iterator'), name, evaluator)
  for (const { key, value } of evaluator.itemsOf(items)) {
    evaluator.budget.spend(stepsPerBlock, position)
    const entries = new Map([
      ['key', key],
      ['value', value],
    ])
    const item: HclValue = { type: 'object', entries, position }
    const inner = evaluator.within(new Map([[iterator, item]]))
    const written = labelsOf(body.attributes.get('labels'), inner)
    yield { block: { name, labels: written, body: content.body, position }, evaluator: inner }
  }
}

/** By default the name of the block. */
function iteratorOf(
  expression: HclExpression | undefined,
  name: string,
  evaluator: HclEvaluator,
): string {
  if (expression === undefined) return name
  if (expression.type === 'reference' && expression.steps.length === 0) return expression.root
  return evaluator.fail('an iterator is a name without quotes', expression.position)
}

function labelsOf(
  expression: HclExpression | undefined,
  evaluator: HclEvaluator,
): readonly string[] {
  if (expression === undefined) return []
  const { position } = expression
  const labels = evaluator.evaluate(expression)
  if (labels.type !== 'list') {
    return evaluator.fail(`labels must be a list of texts, not ${nameOf(labels)}`, position)
  }
  return labels.items.map(
    (label) =>
      textOf(label) ??
      evaluator.fail(`labels must be a list of texts, not of ${nameOf(label)}`, position),
  )
}
