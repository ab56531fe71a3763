/** The HCL subset: what it reads, and what it says about what it does not read. */
import t from 'tap'
import { HCL_DEPTH_MAX, HCL_LENGTH_MAX, parseHcl, type HclBody } from '../../src/lib/hcl.ts'
import { plainValue } from '../support/hcl.ts'

/** Positions and maps left out, so that a table can show what was read. */
function plain(body: HclBody): unknown {
  return {
    ...Object.fromEntries([...body.attributes].map(([name, value]) => [name, plainValue(value)])),
    ...(body.blocks.length === 0
      ? {}
      : { blocks: body.blocks.map((block) => [block.name, ...block.labels, plain(block.body)]) }),
  }
}

const readable: readonly (readonly [string, string, unknown])[] = [
  ['nothing', '', {}],
  ['an attribute', 'a = 1', { a: 1 }],
  ['a byte order mark and Windows line ends', '\uFEFFa = 1\r\nb = 2\r\n', { a: 1, b: 2 }],
  ['all kinds of numbers', 'a = -1\nb = 1.5\nc = 2e3', { a: -1, b: 1.5, c: 2000 }],
  ['booleans and null', 'a = true\nb = false\nc = null', { a: true, b: false, c: null }],
  ['escapes', String.raw`a = "\"\\\n\t\r\u00e9\U0001F600"`, { a: '"\\\n\t\ré😀' }],
  ['doubled template signs', 'a = "$${x} %%{y} $5 100%"', { a: '${x} %{y} $5 100%' }],
  ['a list over lines with a last comma', 'a = [\n 1, # one\n "b",\n]', { a: [1, 'b'] }],
  ['an empty list', 'a = [ ]', { a: [] }],
  ['an object', 'a = { x = 1, "y z": 2\n z = 3 }', { a: { x: 1, 'y z': 2, z: 3 } }],
  ['a block', 'p {\n a = 1\n}', { blocks: [['p', { a: 1 }]] }],
  ['a block in one line', 'p { a = 1 }', { blocks: [['p', { a: 1 }]] }],
  ['labels', 'p "x" y {}', { blocks: [['p', 'x', 'y', {}]] }],
  [
    'one block twice',
    'p {}\np {}',
    {
      blocks: [
        ['p', {}],
        ['p', {}],
      ],
    },
  ],
  ['comments', '# a\n// b\n/* c\n d */ a = 1 /* e */ # f', { a: 1 }],
  ['a heredoc', 'a = <<EOF\n x\n  "y" \\n\nEOF\nb = 1', { a: ' x\n  "y" \\n\n', b: 1 }],
  ['an indented heredoc', 'a = <<-EOF\n    x\n\n      y\n    EOF\n', { a: 'x\n\n  y\n' }],
  ['a heredoc in a list', 'a = [<<A\nx\nA\n, 2]', { a: ['x\n', 2] }],
  ['names with dashes and letters', 'a-b_c = 1\nñ = 2', { 'a-b_c': 1, ñ: 2 }],
]

for (const [name, text, expected] of readable) {
  t.test(`reads ${name}`, async (t) => {
    t.same(plain(parseHcl(text, 'x.hcl')), expected)
  })
}

const refused: readonly (readonly [string, string, RegExp])[] = [
  ['a name without a value', 'a', /x\.hcl:1:2: after a comes = and a value/],
  ['a missing value', 'a =\nb = 1', /x\.hcl:1:4: expected a value, found the end of the line/],
  ['a reference', 'a = b.c', /x\.hcl:1:5: b is no value; write text in quotes, as in "b"/],
  ['a function', 'a = env("X")', /env is no value/],
  ['a template', 'a = "x ${y}"', /x\.hcl:1:8: templates such as \$\{…\} are not evaluated/],
  ['a template in a heredoc', 'a = <<E\n${x}\nE\n', /x\.hcl:2:1: templates/],
  ['an open string', 'a = "x\nb = 1', /x\.hcl:1:5: this string is never closed/],
  ['an unknown escape', String.raw`a = "\x"`, /x\.hcl:1:6: unknown escape/],
  ['half a surrogate pair', String.raw`a = "\ud800"`, /unknown escape/],
  ['an open comment', 'a = 1 /* x', /x\.hcl:1:7: this comment is never closed/],
  ['an open block', 'p {\n a = 1', /x\.hcl:1:1: the block p is never closed/],
  ['an open list', 'a = [1,', /x\.hcl:1:5: this list is never closed/],
  ['an open object', 'a = {x = 1', /x\.hcl:1:5: this object is never closed/],
  ['an open heredoc', 'a = <<EOF\nx', /x\.hcl:1:5: the heredoc is never closed by a line EOF/],
  ['a brace too many', 'a = 1\n}', /x\.hcl:2:1: this } closes nothing/],
  ['two attributes in a line', 'a = 1 b = 2', /x\.hcl:1:7: expected the end of the line after a/],
  ['a list without commas', 'a = [1 2]', /items of a list are separated by commas, found "2"/],
  ['a repeated attribute', 'a = 1\na = 2', /x\.hcl:2:1: a is set twice, first in line 1/],
  ['an attribute and a block', 'a = 1\na {}', /x\.hcl:2:1: a is set twice, first in line 1/],
  ['a block and an attribute', 'a {}\na = 1', /x\.hcl:2:1: a is set twice, first in line 1/],
  ['a repeated key', 'a = { x = 1, x = 2 }', /x\.hcl:1:14: x is set twice in this object/],
  ['a number with letters', 'a = 15s', /a number ends before "s"; write text in quotes/],
  ['a number too large', 'a = 9007199254740993', /too large to be kept exactly/],
  ['a quoted name', '"a" = 1', /expected the name of an attribute or a block, found "\\""/],
]

for (const [name, text, expected] of refused) {
  t.test(`refuses ${name} and says where`, async (t) => {
    t.throws(() => parseHcl(text, 'x.hcl'), { code: 'invalid_argument', message: expected })
  })
}

t.test('nesting and length are bounded', async (t) => {
  const deep = (count: number) => `a = ${'['.repeat(count)}${']'.repeat(count)}`
  t.ok(parseHcl(deep(HCL_DEPTH_MAX), 'x.hcl'))
  t.throws(() => parseHcl(deep(HCL_DEPTH_MAX + 1), 'x.hcl'), { message: /nest deeper than/ })
  t.throws(() => parseHcl('p {'.repeat(5000), 'x.hcl'), { message: /nest deeper than/ })
  t.throws(() => parseHcl(' '.repeat(HCL_LENGTH_MAX + 1), 'x.hcl'), { code: 'too_large' })
})

t.test('positions are those of the text', async (t) => {
  const body = parseHcl('/* two\nlines */ a = 1\n\n  b = <<E\nx\nE\n  c = 2\n', 'x.hcl')
  t.same(body.attributes.get('a')?.position, { line: 2, column: 14 })
  t.same(body.attributes.get('b')?.position, { line: 4, column: 7 })
  t.same(body.attributes.get('c')?.position, { line: 7, column: 7 })
})

t.test('lines are counted through block comments that hold newlines', async (t) => {
  const comments = '/* a\n*//**//*\n\n*/ /* b */'
  const body = parseHcl(`${comments} a = 1\n/*\n*/b = 2 /*\n*/\nc = 3`, 'x.hcl')
  t.same(body.attributes.get('a')?.position, { line: 4, column: 16 })
  t.same(body.attributes.get('b')?.position, { line: 6, column: 7 })
  t.same(body.attributes.get('c')?.position, { line: 8, column: 5 })
  t.throws(() => parseHcl(`\n${comments} = 1`, 'x.hcl'), { message: /^x\.hcl:5:12: expected/ })
})

// Whoever looks for a newline behind each of them goes over the rest of the file 125,000 times.
t.test('a file of nothing but short comments in one line is read', async (t) => {
  t.same(plain(parseHcl(`${'/*ĊĊĊĊ*/'.repeat(125_000)}a = 1`, 'x.hcl')), { a: 1 })
})

t.test('names like __proto__ are names', async (t) => {
  const body = parseHcl('__proto__ = 1\nconstructor = { __proto__ = 2 }', 'x.hcl')
  t.same([...body.attributes.keys()], ['__proto__', 'constructor'])
})
