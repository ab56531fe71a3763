import t from 'tap'
import { compileFilter, FilterCompiler, type RecordShape } from '../../../src/rpc/filter/filter.ts'
import { filterDepthMax, filterTermsMax } from '../../../src/rpc/filter/parse.ts'

const shape: RecordShape = {
  Namespace: 'string',
  Path: 'string',
  ModifyIndex: 'unsigned',
  CreateTime: 'integer',
  Load: 'float',
  Up: 'boolean',
  any: 'string',
  not: 'string',
  Tags: { list: 'string' },
  Ports: { list: 'integer' },
  Meta: { map: 'string' },
  Service: { record: { Name: 'string', Tags: { list: 'string' } } },
  Checks: { list: { record: { Status: 'string', Tags: { list: 'string' } } } },
}

const record = {
  Namespace: 'default',
  Path: 'app/db',
  ModifyIndex: 17,
  CreateTime: 1_712_345_678_901_000_001n,
  Load: 0.5,
  Up: true,
  any: 'x',
  not: 'y',
  Tags: ['a', 'b c'],
  Ports: [80, 443],
  Meta: JSON.parse('{"env":"prod","a.b":"dot","__proto__":"p"}') as Record<string, unknown>,
  Service: { Name: 'web', Tags: [] },
  Checks: [
    { Status: 'passing', Tags: ['x'] },
    { Status: 'critical', Tags: ['y'] },
  ],
}

void t.test('expressions and their results', (t) => {
  const cases: readonly (readonly [string, boolean])[] = [
    ['Path == "app/db"', true],
    ['Path=="app/db"', true],
    ['Path == app/db', true],
    ['Path == `app/db`', true],
    ['Path != other', true],
    ['Path == "app\\u002fdb"', true],
    ['Path == "app\\x2fdb"', true],
    ['Path == "app\\057db"', true],
    ['(Path == "app/db")', true],
    ['  ( Path == "app/db" )  ', true],
    ['Path contains app', true],
    ['Path not contains app', false],
    ['"pp/d" in Path', true],
    ['app in Path', true],
    ['zzz not in Path', true],
    ['Path matches "^app/.b$"', true],
    ['Path not matches `^app`', false],
    ['Path matches "(?i)APP"', true],
    ['Path is empty', false],
    ['Path is not empty', true],
    ['Path is nil', false],
    ['Path is not nil', true],
    ['ModifyIndex == 17', true],
    ['ModifyIndex == "0x11"', true],
    ['ModifyIndex == "0b1_0001"', true],
    ['ModifyIndex == "021"', true],
    ['ModifyIndex == "17"', true],
    ['ModifyIndex == 18446744073709551615', false],
    ['CreateTime != -17', true],
    ['CreateTime != "+17"', true],
    ['CreateTime == 1712345678901000001', true],
    ['CreateTime == 1712345678901000000', false],
    ['Load == 0.5', true],
    ['Up == true', true],
    ['Up == T', true],
    ['Up != "0"', true],
    ['Tags contains a', true],
    ['"b c" in Tags', true],
    ['x not in Tags', true],
    ['Tags is not empty', true],
    ['Tags.0 == a', true],
    ['Tags.9 == a', false],
    ['Tags.9 != a', true],
    ['443 in Ports', true],
    ['81 in Ports', false],
    ['Meta.env == prod', true],
    ['Meta["a.b"] == dot', true],
    ['Meta[`env`] == prod', true],
    ['Meta["__proto__"] == p', true],
    ['Meta.constructor is nil', true],
    ['Meta.toString == x', false],
    ['Meta.none != x', true],
    ['Meta.none not matches x', true],
    ['Meta.none is empty', true],
    ['env in Meta', true],
    ['Meta contains nope', false],
    ['"/Meta/env" == prod', true],
    ['prod in "/Meta/env"', true],
    ['Service.Name == web', true],
    ['Service.Tags is empty', true],
    ['any Tags as tag { tag == a }', true],
    ['any Tags as tag{tag == z}', false],
    ['all Tags as tag { tag is not empty }', true],
    ['any Tags as i, tag { i == 1 and tag == "b c" }', true],
    ['any Tags as _, tag { tag == a }', true],
    ['any Meta as k { k == env }', true],
    ['any Meta as k, v { k == env and v == prod }', true],
    ['all Meta as _, v { v is not empty }', true],
    ['any Checks as c { c.Status == critical and any c.Tags as x { x == y } }', true],
    ['all Service.Tags as x { x == never }', true],
    ['any == x', true],
    ['not == y', true],
    ['not Path == x', true],
    ['not not Path == x', false],
    ['not(Path == x)', true],
    ['Path == x or Path == "app/db" and Up == true', true],
    ['(Path == x or Path == "app/db") and Up == false', false],
    ['Path == x or Path == y or Path == "app/db"', true],
    ['(Path == x)or(Path == "app/db")', true],
    ['not Path == x and Up == false', false],
    ['Path\n==\t"app/db"\nand Up == true', true],
  ]
  for (const [source, expected] of cases) {
    t.equal(compileFilter(source, shape).matches(record), expected, source)
  }
  t.end()
})

void t.test('what is wrong is refused before any record is seen', (t) => {
  const cases = [
    ' ',
    'Path',
    'Path ==',
    'Path = x',
    'Path < 1',
    "Path == 'x'",
    'Path == x && Up == true',
    'Path == x and',
    'Path == x AND Up == true',
    'Path == x Up == true',
    'Path is',
    'Path is emptyx',
    'Path containsx',
    '(Path == x',
    'Path == x)',
    'Path == "x',
    'Path == "\\q"',
    'Path == "\\ud800"',
    'Path == 007',
    'path == x',
    'Nope == x',
    'Path.x == y',
    '__proto__ == x',
    'Tags.x == y',
    'ModifyIndex == x',
    'ModifyIndex == 1.5',
    'ModifyIndex == -17',
    'ModifyIndex != -17',
    'ModifyIndex == "-0"',
    'ModifyIndex == "+17"',
    'ModifyIndex == ""',
    'ModifyIndex == "18446744073709551616"',
    'ModifyIndex contains 1',
    'ModifyIndex matches "1"',
    'ModifyIndex is empty',
    'Up == maybe',
    'Up contains true',
    'Tags == a',
    'Tags matches a',
    'x in Ports',
    'Path matches "("',
    'Path matches "(a)\\\\1"',
    'Path matches "(a{1000}){1000}"',
    'any Path as x { x == y }',
    'any Tags as { x == y }',
    'any Tags x { x == y }',
    'any Tags as x { x == y',
    'Meta[env] == x',
    'Meta["env" == x',
    '("'.repeat(10),
    `${'('.repeat(filterDepthMax + 1)}Path == x${')'.repeat(filterDepthMax + 1)}`,
    `${'not '.repeat(filterDepthMax + 1)}Path == x`,
    Array.from({ length: filterTermsMax + 1 }, () => 'Path == x').join(' or '),
    `Path == "${'x'.repeat(9_000)}"`,
    'any Checks as a { any Checks as b { any Checks as c { c.Status == x } } }',
  ]
  for (const source of cases) {
    t.throws(
      () => compileFilter(source, shape),
      { code: 'invalid_argument', message: /^filter: [^\n]+$/ },
      source.slice(0, 60),
    )
  }
  t.end()
})

void t.test('a refusal names the place', (t) => {
  t.throws(() => compileFilter('Path == x and Nope == y', shape), {
    message: /no field "Nope"; known are Namespace, Path.*\(at character 14\)/,
  })
  t.throws(() => compileFilter('Path == x oder Up == true', shape), {
    message: /expected "and", "or" or the end, found "oder Up == true" \(at character 10\)/,
  })
  t.end()
})

void t.test('hostile expressions end at once', (t) => {
  const sources = [
    '('.repeat(8_000),
    'not '.repeat(2_000),
    'a.'.repeat(4_000),
    'any Tags as x {'.repeat(500),
    '"'.repeat(8_000),
    `Path == "${'\\'.repeat(8_000)}`,
    'Path == x or '.repeat(600),
    'Tags['.repeat(1_600),
  ]
  for (const source of sources) {
    t.throws(() => compileFilter(source, shape), { code: 'invalid_argument' }, source.slice(0, 20))
  }
  const deep = compileFilter(
    Array.from({ length: filterTermsMax }, (_, n) => `Path matches "(a|${n})+$"`).join(' and '),
    shape,
  )
  t.ok(deep.weight > filterTermsMax)
  t.equal(deep.matches(record), false)
  t.end()
})

void t.test('all patterns of a filter together are bounded', (t) => {
  const large = 'Path matches "(a?b?){1000}c"'
  t.ok(compileFilter(`${large} or ${large}`, shape))
  t.throws(
    () =>
      compileFilter(
        `${large} or not (any Tags as x { x matches "(a?b?){1000}c" } and ${large})`,
        shape,
      ),
    {
      code: 'invalid_argument',
      message: /at most 10000 states together/,
    },
  )
  t.end()
})

void t.test('compiled filters are kept, the ones used last', (t) => {
  const compiler = new FilterCompiler(shape, { entriesMax: 2 })
  t.equal(compiler.compile(''), null)
  const first = compiler.compile('Path == a')
  compiler.compile('Path == b')
  t.equal(compiler.compile('Path == a'), first)
  compiler.compile('Path == c')
  t.equal(compiler.compile('Path == a'), first, 'used since, so it stayed')
  t.throws(() => compiler.compile('Path =='))
  t.end()
})
