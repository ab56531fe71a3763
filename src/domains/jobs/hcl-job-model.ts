/**
 * A job file in HCL to the job as the API has it. Variables and locals are put in; what is known only where a task runs
 * (`${attr.kernel.name}`, `${NOMAD_PORT_http}`) stays as it is written.
 */
import type { HclBlock, HclValue } from '../../lib/hcl.ts'
import { HclEvaluator, type HclReference, type Resolved } from '../../lib/hcl-evaluate.ts'
import { parseHclExpressions } from '../../lib/hcl-expression.ts'
import type { HclExpression } from '../../lib/hcl-tree.ts'
import { jobBlock } from './hcl-blocks-model.ts'
import { JobFileReader, type Members } from './hcl-shape-model.ts'
import { checkVariables, variableBlocksOf, variablesOf } from './hcl-variables-model.ts'

/** In refusals: `job:3:5: …`. */
const fileName = 'job'
/** Locals that lead to one another. */
const localsDepthMax = 32
const runtimeRoots = ['attr', 'node', 'meta', 'env', 'device', 'driver']
const knownBlocks = ['job', 'variable', 'variables', 'locals']

/** Throws `invalid_argument` with line and column. `variables`: values as attributes, in HCL too. */
export function parseJobFile(text: string, variables: string): Members {
  const { attributes, blocks, positions } = parseHclExpressions(text, fileName)
  const names = new Names(blocks)
  const evaluator: HclEvaluator = new HclEvaluator(fileName, (reference, { inTemplate }) =>
    names.resolve(reference, inTemplate, evaluator),
  )
  const [stray] = attributes.keys()
  if (stray !== undefined) {
    evaluator.fail(
      `${stray} stands outside of the job: write job "name" { … }`,
      positions.get(stray) ?? { line: 1, column: 1 },
    )
  }
  for (const { name, position } of blocks) {
    if (!knownBlocks.includes(name)) {
      evaluator.fail(`a job file has no ${name}; it has ${knownBlocks.join(', ')}`, position)
    }
  }
  const variableBlocks = variableBlocksOf(blocks, evaluator)
  const alone = new HclEvaluator(fileName, referToNothing, evaluator.budget)
  names.variables = variablesOf(variableBlocks, variables, alone)
  checkVariables(variableBlocks, evaluator)
  const [job, second] = blocks.filter(({ name }) => name === 'job')
  if (job === undefined) {
    return evaluator.fail('this file has no job: write job "name" { … }', { line: 1, column: 1 })
  }
  if (second !== undefined) evaluator.fail('a file has one job', second.position)
  return new JobFileReader(evaluator).block(job, jobBlock)
}

/** What the names of one file stand for. */
class Names {
  variables: ReadonlyMap<string, HclValue> = new Map()
  readonly #locals = new Map<string, HclExpression>()
  readonly #values = new Map<string, HclValue>()
  readonly #underWay: string[] = []

  constructor(blocks: readonly HclBlock<HclExpression>[]) {
    for (const { name, body } of blocks) {
      if (name !== 'locals') continue
      for (const [key, value] of body.attributes) this.#locals.set(key, value)
    }
  }

  resolve(reference: HclReference, inTemplate: boolean, evaluator: HclEvaluator): Resolved | null {
    const { root, steps, position } = reference
    if (root === 'var' || root === 'local') {
      const key = steps[0]?.key
      if (typeof key !== 'string') return null
      const value =
        root === 'var' ? this.variables.get(key) : this.#local(key, reference, evaluator)
      if (value === undefined) evaluator.fail(`there is no ${root}.${key} in this file`, position)
      return { value, stepsTaken: 1 }
    }
    return atRuntime(reference, inTemplate, evaluator)
  }

  #local(key: string, { position }: HclReference, evaluator: HclEvaluator): HclValue | undefined {
    const known = this.#values.get(key)
    const expression = this.#locals.get(key)
    if (known !== undefined || expression === undefined) return known
    // For good: with `try()` around, what a local is would depend on which one was asked for first.
    const { budget } = evaluator
    if (this.#underWay.includes(key)) budget.stop(`local.${key} leads to itself`, position)
    if (this.#underWay.length >= localsDepthMax) {
      budget.stop(`over ${localsDepthMax} locals lead to one another`, position)
    }
    this.#underWay.push(key)
    try {
      const value = evaluator.evaluate(expression)
      this.#values.set(key, value)
      return value
    } finally {
      this.#underWay.pop()
    }
  }
}

/** What is known only where a task runs, as it is written. */
function atRuntime(
  reference: HclReference,
  inTemplate: boolean,
  evaluator: HclEvaluator,
): Resolved | null {
  const { root, steps, source, position } = reference
  const isKnown = runtimeRoots.includes(root) ? steps.length > 0 : root.startsWith('NOMAD_')
  // The environment of a task is known where it runs: any single name may be of it.
  if (!isKnown && !(inTemplate && steps.length === 0)) return null
  const computed = steps.find(
    ({ key }) => key === null || (typeof key === 'object' && key.type !== 'literal'),
  )
  if (computed !== undefined) {
    evaluator.fail(
      `${source} is known only where a task runs: write its name out, as in \${env["HOME"]}`,
      computed.position,
    )
  }
  const value: HclValue = { type: 'string', value: `\${${source}}`, position }
  return { value, stepsTaken: steps.length }
}

/** For values of variables: what they could refer to may be made of these values. */
function referToNothing(
  reference: HclReference,
  { inTemplate, evaluator }: { readonly inTemplate: boolean; readonly evaluator: HclEvaluator },
): Resolved | null {
  const { root, source, position } = reference
  if (root === 'var' || root === 'local') {
    evaluator.fail(`the value of a variable cannot refer to ${source}: use a local`, position)
  }
  return atRuntime(reference, inTemplate, evaluator)
}
