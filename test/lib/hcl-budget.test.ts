/** Files that ask for much: each is refused before it costs much. The bounds are smaller here, as the work is then. */
import t from 'tap'
import { HclBudget } from '../../src/lib/hcl-budget.ts'
import { HclEvaluator } from '../../src/lib/hcl-evaluate.ts'
import { parseHclExpressions } from '../../src/lib/hcl-expression.ts'
import { plainValue, runtimeScope } from '../support/hcl.ts'

const limits = { steps: 10_000, letters: 200_000 }

function evaluated(expression: string): unknown {
  const value = parseHclExpressions(`a = ${expression}`, 'x.hcl').attributes.get('a')
  if (value === undefined) throw new Error('no value was read')
  const budget = new HclBudget('x.hcl', limits)
  return plainValue(new HclEvaluator('x.hcl', runtimeScope, budget).evaluate(value))
}

const big = `"${'x'.repeat(100_000)}"`
const wide = `"${'é'.repeat(30_000)}"`
/** `o` is a list, and `b` a long text, in many rounds. */
const rounds = (expression: string) =>
  `[for o in [range(1000)] : [for b in [${big}] : [for a in range(9000) : ${expression}]]]`

const bombs = [
  'range(1e9)',
  'range(0, 1, 1e-15)',
  '[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : 1]]]',
  '[for a in range(1000) : a if [for b in range(1000) : b] == 1]',
  '{ for a in range(9000) : "k${a}" => a }',
  'setproduct(range(100), range(100), range(100), range(100))',
  'setproduct([for a in range(99) : range(9)]...)',
  `join(${big}, range(100))`,
  `[for b in [${big}] : replace(b, "x", b)]`,
  `[for b in [${big}] : replace(b, "", b)]`,
  `[for b in [${big}] : regex_replace(b, "x", b)]`,
  `[for b in [${big}] : regex_replace(b, "", "$0$0$0$0")]`,
  `regexall("(x+x+)+y", ${big})`,
  `regexall("(?:(?:x?){50}){20}y", ${big})`,
  `regexall("x(.*)y|x", ${big})`,
  `regex("(?i)[^\\\\p{Greek}ä]+y", ${wide})`,
  `strlen(${wide})`,
  `title(${wide})`,
  `split("", ${big})`,
  `format("${'%%'.repeat(50_000)}")`,
  `jsondecode("[${'[],'.repeat(50_000)}1]")`,
  'sort([for a in range(9000) : "k${a}"])',
  '"${[for a in range(9000) : "x"]}"',
  ...[
    'format("%1000d", a)',
    'regex("[a-z]{9}", "x")',
    'try(var.x, 1)',
    'can(upper([]))',
    'strlen(b)',
    'upper(b)',
    '"${b}x"',
    'base64encode(b)',
    'sha512(b)',
    'strrev(b)',
    'b == "${b}"',
    'length(concat(o, o))',
    'length(merge({ x = o }, { for i in o : "k" => i... }))',
    'length(distinct(o))',
    'length(setunion(o, o))',
    'length(flatten([[o, o], o]))',
    'strlen(jsonencode([o, o]))',
    'length(convert(o, list(string)))',
    'length(chunklist(o, 1))',
    'length(slice(o, 0, 1000))',
    'max(o...)',
    'contains(o, -1)',
    'o == o',
    'length(o[*])',
    'join("", o)',
  ].map(rounds),
]

t.test('nothing that a file asks for costs more than its budget', async (t) => {
  const message = /^x\.hcl:1:\d+: .*(takes over 10000 steps|come to over 200000 letters)$/
  for (const bomb of bombs) {
    t.throws(() => evaluated(bomb), { code: 'invalid_argument', message }, bomb.slice(0, 80))
  }
})

// oxfmt-ignore
const refused: readonly (readonly [string, RegExp])[] = [
  ['format("%1000000d", 1)',          /%1000000d is wider than 1000/],
  ['format("%.1000000f", 1)',         /is wider than 1000/],
  ['indent(1000000, "a")',            /a whole number from 0 to 1000/],
  ['pow(pow(10, 300), 300)',          /no exact result/],
  ['regex("(x{1000}){1000}", "x")',   /repeat counts that multiply/],
  [`jsondecode("${'['.repeat(9_000)}")`, /not valid JSON/],
]

t.test('other bounds have sentences of their own', async (t) => {
  for (const [expression, message] of refused) {
    t.throws(() => evaluated(expression), { code: 'invalid_argument', message }, expression)
  }
})

t.test('a budget that is spent is not tried around', async (t) => {
  t.throws(() => evaluated('try(range(1e9), 1)'), { message: /takes over 10000 steps/ })
  t.throws(() => evaluated('can(range(1e9)) ? 1 : 2'), { message: /takes over 10000 steps/ })
})

t.test('a large file within the budget is evaluated', async (t) => {
  t.equal(evaluated('length([for a in range(1000) : a])'), 1_000)
  t.equal(evaluated(`strlen(${big})`), 100_000)
})
