/** Expressions of HCL: what they come to, what is refused and where, and that a hostile file costs little. */
import fc from '../support/fast-check.ts'
import t from 'tap'
import { MusterError } from '../../src/lib/errors.ts'
import type { HclBody, HclValue } from '../../src/lib/hcl.ts'
import { HclEvaluator, type HclScope } from '../../src/lib/hcl-evaluate.ts'
import { amount, seed } from '../support/randomness.ts'
import { plainValue } from '../support/hcl.ts'
import { operatorsMax, parseHclExpressions } from '../../src/lib/hcl-expression.ts'
import type { HclExpression } from '../../src/lib/hcl-tree.ts'

const position = { line: 1, column: 1 }
const known: ReadonlyMap<string, HclValue> = new Map<string, HclValue>([
  ['name', { type: 'string', value: 'web', position }],
  ['count', { type: 'number', value: 3, position }],
  ['on', { type: 'boolean', value: true, position }],
  [
    'list',
    {
      type: 'list',
      items: [
        { type: 'string', value: 'a', position },
        { type: 'string', value: 'b', position },
      ],
      position,
    },
  ],
])

const scope: HclScope = ({ root, steps, source }) => {
  if (root === 'attr') {
    return { value: { type: 'string', value: `\${${source}}`, position }, stepsTaken: steps.length }
  }
  const [first] = steps
  const value = root === 'var' && typeof first?.key === 'string' ? known.get(first.key) : undefined
  return value === undefined ? null : { value, stepsTaken: 1 }
}

function evaluated(text: string): Record<string, unknown> {
  const evaluator = new HclEvaluator('x.hcl', scope)
  const body: HclBody<HclExpression> = parseHclExpressions(text, 'x.hcl')
  return Object.fromEntries(
    [...body.attributes].map(([name, value]) => [name, plainValue(evaluator.evaluate(value))]),
  )
}

const readable: readonly (readonly [string, string, unknown])[] = [
  ['a reference', 'a = var.name', 'web'],
  ['a template', 'a = "x-${var.name}-${ var.count }"', 'x-web-3'],
  ['a template of one part', 'a = "${var.list}"', ['a', 'b']],
  ['text with signs', 'a = "$5 100% $${x} %%{y}"', '$5 100% ${x} %{y}'],
  ['a runtime reference', 'a = "on ${attr.kernel.name}"', 'on ${attr.kernel.name}'],
  ['a heredoc', 'a = <<E\nx ${var.name}\n$${y}\nE\n', 'x web\n${y}\n'],
  ['an indented heredoc', 'a = <<-E\n    ${var.name}\n      y\n  E\n', 'web\n  y\n'],
  ['a heredoc with Windows line ends', 'a = <<E\r\nx ${var.name}\r\nE\r\n', 'x web\n'],
  [
    'a reference in brackets',
    'a = [(var.name), (var.list)[0], ((var.count)) + 1]',
    ['web', 'a', 4],
  ],
  ['an index', 'a = var.list[1]', 'b'],
  ['an index after a dot', 'a = var.list.0', 'a'],
  ['an index of a literal', 'a = ["x", "y"][1]', 'y'],
  ['a member of a literal', 'a = { x = { y = 1 } }.x["y"]', 1],
  ['arithmetic', 'a = 1 + 2 * 3 - 4 / 2', 5],
  ['subtraction without blanks', 'a = 5-3', 2],
  ['negation', 'a = -(1 + 2)', -3],
  ['comparison', 'a = var.count >= 3 && !(var.name == "x")', true],
  ['a condition', 'a = var.on ? "yes" : "no"', 'yes'],
  ['a condition over lines', 'a = (\n  var.on\n  ? 1\n  : 2\n)', 1],
  ['only the branch that holds', 'a = true ? 1 : var.nothing', 1],
  ['a list', 'a = [\n var.name, # one\n 2,\n]', ['web', 2]],
  [
    'an object',
    'a = { "k-${var.name}" = 1, (var.name) = 2\n 3: null }',
    { 'k-web': 1, web: 2, 3: null },
  ],
  ['an object in a list', 'a = [{ x = 1\n y = 2 }]', [{ x: 1, y: 2 }]],
  ['a function', 'a = "${upper("x")}-${max(1, 2)}"', 'X-2'],
  ['lists that are the same', 'a = var.list == ["a", "b"]', true],
  ['a for over a list', 'a = [for v in var.list : "x-${v}"]', ['x-a', 'x-b']],
  ['many operators beside one another', `a = "${'${1 + 1}'.repeat(200)}"`, '2'.repeat(200)],
  ['what is behind a for', 'a = [for v in [1] : v]\nb = {for v in [1] : v => v}\nc = 1', [1]],
  ['a for with indexes', 'a = [for i, v in var.list : "${i}${v}" if i > 0]', ['1b']],
  [
    'a for over an object, by keys',
    'a = [for k, v in { b = 1, a = 2 } : "${k}${v}"]',
    ['a2', 'b1'],
  ],
  ['a for over a set', 'a = [for k, v in toset(["b", "a"]) : "${k}${v}"]', ['aa', 'bb']],
  ['a for that makes an object', 'a = { for i, v in var.list : v => i }', { a: 0, b: 1 }],
  [
    'a for that groups',
    'a = { for v in ["x", "yy", "z"] : strlen(v) => v... }',
    { 1: ['x', 'z'], 2: ['yy'] },
  ],
  ['a for over lines', 'a = {\n  for v in [\n 1\n ]\n  : "k${v}" =>\n v\n  if v > 0\n}', { k1: 1 }],
  [
    'a for in a for',
    'a = [for x in [1, 2] : [for y in [x, 10] : x * y if y != 1]]',
    [[10], [4, 20]],
  ],
  [
    'names of a for before those of the file',
    'a = [for var in [{ name = "x" }] : var.name]',
    ['x'],
  ],
  ['names of a for that stay in it', 'a = [[for name in [1] : name], "${var.name}"]', [[1], 'web']],
  [
    'an object with names like __proto__',
    'a = { for k in ["__proto__"] : k => 1 }',
    JSON.parse('{"__proto__":1}'),
  ],
  ['a name that begins as for', 'a = [for v in [{ fort-1 = 2 }] : v.fort-1]', [2]],
  ['a splat', 'a = [{ n = { m = 1 } }, { n = { m = 2 } }][*].n.m', [1, 2]],
  ['a splat of a splat', 'a = [{ l = [{ n = 1 }, { n = 2 }] }][*].l[*].n', [[1, 2]]],
  ['a splat with an index of each', 'a = [["x", "y"], ["z"]][*][0]', ['x', 'z']],
  ['a splat of names', 'a = [{ n = ["x"] }, { n = ["y"] }].*.n[1]', ['y']],
  ['a splat of a reference', 'a = var.list[*]', ['a', 'b']],
  ['a splat of one value and of none', 'a = [var.name[*], null[*]]', [['web'], []]],
  ['a directive if', 'a = "x%{ if var.on }y%{ endif }%{ if !var.on }z%{ endif }"', 'xy'],
  ['a directive else', 'a = "%{ if var.count > 5 }many%{ else }few%{ endif }"', 'few'],
  ['a directive for', 'a = "%{ for i, v in var.list }${i}=${v};%{ endfor }"', '0=a;1=b;'],
  [
    'directives in directives',
    'a = "%{ for v in var.list }%{ if v == "b" }<%{ for w in [1, 2] }${v}${w}%{ endfor }>%{ endif }%{ endfor }"',
    '<b1b2>',
  ],
  ['a directive alone is a text', 'a = "%{ if true }${1}%{ endif }"', '1'],
  [
    'directives that are escaped',
    'a = "%%{ if x }%%{ endif } 5%{ if true }%%{y}%{ endif }"',
    '%{ if x }%{ endif } 5%{y}',
  ],
  ['directives that strip', 'a = "%{ if true ~} hello %{~ endif }"', 'hello'],
  ['templates that strip', 'a = "a \\n ${~ "b" ~} \\n c${" d" ~}${" e"}"', 'abc d e'],
  [
    'directives of a heredoc',
    'a = <<E\n%{ for v in var.list ~}\nserver ${v}\n%{ endfor ~}\nend\nE\n',
    'server a\nserver b\nend\n',
  ],
  [
    'what strips a heredoc stays in its line',
    'a = <<E\nx\n  %{~ if true ~}  \n  y\n%{ endif }\nE\n',
    'x\n  y\n\n',
  ],
  [
    'directives of an indented heredoc',
    'a = <<-E\n    %{ for v in var.list ~}\n    - ${v}\n    %{ endfor ~}\n      z\n  E\n',
    '- a\n- b\n  z\n',
  ],
  [
    'names in a directive',
    'a = "%{ for x in [1] }${x}${attr.x}$${x}%{ endfor }"',
    '1${attr.x}${x}',
  ],
  ['nested templates', 'a = "${"x-${var.name}"}!"', 'x-web!'],
]

for (const [name, text, expected] of readable) {
  t.test(`evaluates ${name}`, async (t) => {
    t.same(evaluated(text)['a'], expected)
  })
}

const refused: readonly (readonly [string, string, RegExp])[] = [
  ['a bare word', 'a = b', /x\.hcl:1:5: b is no value; write text in quotes, as in "b"/],
  ['an unknown variable', 'a = var.x', /x\.hcl:1:5: var\.x is no value/],
  [
    'a function that is not there',
    'a = 1\nb = uper("x")',
    /x\.hcl:2:5: there is no function uper; there are abs/,
  ],
  ['an unknown directive', 'a = "%{when x}"', /x\.hcl:1:6: there are %\{ if … \}, %\{ else \}/],
  [
    'a directive that is open',
    'a = "x%{ if true }y"',
    /x\.hcl:1:7: this %\{ if … \} is never closed by %\{ endif \}/,
  ],
  ['a directive without a brace', 'a = "%{ if true"', /ends with \}|never closed/],
  [
    'an end of nothing',
    'a = "x%{ endfor }"',
    /x\.hcl:1:7: this %\{ endfor \} closes no %\{ for … \}/,
  ],
  [
    'an end of another',
    'a = "%{ if true }%{ endfor }%{ endif }"',
    /x\.hcl:1:18: this %\{ endfor \} closes no/,
  ],
  [
    'two elses',
    'a = "%{ if true }%{ else }%{ else }%{ endif }"',
    /x\.hcl:1:27: this %\{ else \} belongs to no/,
  ],
  ['an else of a for', 'a = "%{ for x in [] }%{ else }%{ endfor }"', /belongs to no %\{ if … \}/],
  [
    'a directive for a text',
    'a = "%{ for x in "y" }%{ endfor }"',
    /x\.hcl:1:18: expected a list or an object/,
  ],
  [
    'a list in a directive',
    'a = "%{ for x in [[]] }${x}%{ endfor }"',
    /a list cannot be part of a text/,
  ],
  ['deep directives', `a = "${'%{ if true }'.repeat(40)}"`, /directives nest deeper than 32/],
  ['a list in a text', 'a = "x${var.list}"', /x\.hcl:1:9: a list cannot be part of a text/],
  ['an index that is not there', 'a = var.list[2]', /x\.hcl:1:13: a list has no "2"/],
  ['a member of a text', 'a = var.name.x', /x\.hcl:1:13: a text has no "x"/],
  ['a sum of texts', 'a = "1" + 1', /x\.hcl:1:5: expected a number, found a text/],
  ['a division by nothing', 'a = 1 / 0', /no exact result/],
  ['a condition of a text', 'a = "x" ? 1 : 2', /expected true or false, found a text/],
  ['half a condition', 'a = true ? 1', /a condition is written as a \? b : c/],
  ['an open parenthesis', 'a = (1\n', /x\.hcl:1:5: this \( is never closed/],
  ['an open template', 'a = "x${1"', /x\.hcl:1:\d+: .*(ends with }|never closed)/],
  [
    'a for over a text',
    'a = [for x in "y" : x]',
    /x\.hcl:1:15: expected a list or an object, found a text/,
  ],
  ['a for over what a task knows', 'a = [for x in attr.y : x]', /found a text/],
  ['a for without in', 'a = [for x of y : x]', /x\.hcl:1:12: write for v in x/],
  [
    'a for without a colon',
    'a = [for x in y x]',
    /write \[for v in x : v\]: expected :, found "x"/,
  ],
  [
    'a for without an arrow',
    'a = { for x in [1] : x }',
    /write { for k, v in x : k => v }: expected =>, found "}"/,
  ],
  ['a for that is open', 'a = [for x in [1] : x', /expected \], found the end of the file/],
  [
    'a condition of a for that is a text',
    'a = [for x in [1] : x if "y"]',
    /expected true or false, found a text/,
  ],
  [
    'a key twice in a for',
    'a = { for x in [1, 2] : "k" => x }',
    /x\.hcl:1:25: there are two k: write \.\.\. behind/,
  ],
  ['a key that is a list', 'a = { for x in [[]] : x => 1 }', /a key must be a text/],
  ['a name outside of its for', 'a = [[for x in [1] : x], x]', /x\.hcl:1:26: x is no value/],
  ['a member that one item has not', 'a = [{ n = 1 }, {}][*].n', /an object has no "n"/],
  ['deep splats', `a = var.list${'[*]'.repeat(40)}`, /nest deeper than 32/],
  ['deep fors', `a = ${'[for x in [1] : '.repeat(40)}1${']'.repeat(40)}`, /nest deeper than 32/],
  ['a key twice', 'a = { x = 1, "x" = 2 }', /x is set twice in this object/],
  ['many operators', `a = 1${' + 1'.repeat(operatorsMax + 1)}`, /at most 100 operators/],
  [
    'many operators in an item',
    `a = [[1${' + 1'.repeat(60)}][0]${' + 1'.repeat(60)}]`,
    /at most 100 operators/,
  ],
  [
    'many operators with operators in brackets',
    `a = (1${' + 1'.repeat(60)})${' + 1'.repeat(60)}`,
    /at most 100 operators/,
  ],
  ['deep nesting', `a = ${'('.repeat(40)}1${')'.repeat(40)}`, /nest deeper than 32/],
  ['deep negation', `a = ${'!'.repeat(40)}true`, /nest deeper than 32/],
]

for (const [name, text, expected] of refused) {
  t.test(`refuses ${name}`, async (t) => {
    t.throws(() => evaluated(text), { code: 'invalid_argument', message: expected })
  })
}

t.test('references to references do not multiply a text without bound', async (t) => {
  const text = { type: 'string', value: 'x'.repeat(100_000), position } as const
  const long: HclScope = () => ({ value: text, stepsTaken: 1 })
  const evaluator = new HclEvaluator('x.hcl', long)
  const body = parseHclExpressions(`a = "${'${var.x}'.repeat(100)}"`, 'x.hcl')
  t.throws(() => [...body.attributes.values()].map((value) => evaluator.evaluate(value)), {
    message: /over 4194304 letters/,
  })
})

t.test(`whatever is written is read or refused (seed ${seed})`, async (t) => {
  const words = [
    'a',
    ' = ',
    '"',
    '${',
    '}',
    '{',
    '[',
    ']',
    '(',
    ')',
    '<<E\n',
    '\nE\n',
    '\n',
    '-',
    '!',
    '?',
  ]
  const more = [
    ':',
    '.',
    ',',
    '1',
    'x',
    '%{',
    '$',
    '\\',
    '&&',
    '==',
    '/*',
    '#',
    'for x in ',
    'for k, v in ',
    ' => ',
    '...',
    ' if ',
    '[*]',
    '.*',
    'upper(',
    '%{ if ',
    '%{ endif }',
    '%{ for v in ',
    '%{ endfor ~}',
    '${~',
    '~}',
    'var.name',
    ' ',
  ]
  const piece = fc.constantFrom(...words, ...more)
  const run = (text: string): void => {
    try {
      evaluated(text)
    } catch (error) {
      if (!(error instanceof MusterError)) throw error
    }
  }
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => run(`a = ${pieces.join('')}`)),
    { numRuns: amount('FUZZ_HCL', { gate: 2_000, long: 30_000 }), seed },
  )
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), run), {
    numRuns: 500,
    seed: 1,
  })
  t.pass('nothing but a refusal was thrown')
})
