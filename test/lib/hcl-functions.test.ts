/** Functions of job files: what each comes to, what it refuses, and that no call costs more than the budget of its file. */
import t from 'tap'
import fc from '../support/fast-check.ts'
import { amount, seed } from '../support/randomness.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { parseHclExpressions } from '../../src/lib/hcl-expression.ts'
import { HclEvaluator } from '../../src/lib/hcl-evaluate.ts'
import { functionNames, refusedFunctions } from '../../src/lib/hcl-functions/table.ts'
import { plainValue, runtimeScope } from '../support/hcl.ts'

function evaluated(expression: string): unknown {
  const value = parseHclExpressions(`a = ${expression}`, 'x.hcl').attributes.get('a')
  if (value === undefined) throw new Error('no value was read')
  return plainValue(new HclEvaluator('x.hcl', runtimeScope).evaluate(value))
}

// oxfmt-ignore
const results: readonly (readonly [string, unknown])[] = [
  // Texts.
  [String.raw`chomp("a\r\n\n")`,                    'a'],
  ['format("%s-%03d|%5.1f|%-4s|%q", "a", 7, 2.25, "b", "c")', 'a-007|  2.3|b   |"c"'],
  ['format("%v %v %v %v", 1, true, ["a"], null)',   '1 true ["a"] null'],
  ['format("%#v %t %x %X %b %o", "a", true, 255, "hi", 5, 8)', '"a" true ff 6869 101 10'],
  ['format("%[2]s %[1]s %%", "a", "b")',            'b a %'],
  ['format("%+d %e %g", 5, 1234.5, 0.25)',          '+5 1.234500e+03 0.25'],
  ['format("%s", "${attr.cpu.arch}")',              '${attr.cpu.arch}'],
  ['format("%s-%s", "web", "${env["HOME"]}")',      'web-${env["HOME"]}'],
  ['formatlist("%s=%d", ["a", "b"], [1, 2])',       ['a=1', 'b=2']],
  ['formatlist("%s.%s", "x", ["a", "b"])',          ['x.a', 'x.b']],
  [String.raw`indent(2, "a\nb\n\nc")`,              'a\n  b\n  \n  c'],
  ['join(", ", ["a", 1, true])',                    'a, 1, true'],
  ['join("-", ["a"], [], ["b"])',                   'a-b'],
  ['lower("ÄB İ")',                                 'äb İ'],
  ['upper("äß1")',                                  'Äß1'],
  ['upper("${NOMAD_TASK_NAME}")',                   '${NOMAD_TASK_NAME}'],
  ['title("hello big-world o’neil a_b")',           'Hello Big-World O’neil A_b'],
  ['replace("a.b.c", ".", "$&")',                   'a$&b$&c'],
  ['replace("ab", "", "-")',                        '-a-b-'],
  ['split(",", "a,b,")',                            ['a', 'b', '']],
  ['split("", "a😀")',                              ['a', '😀']],
  ['strlen("e\\u0301😀\\r\\n")',                    3],
  ['strlen(12345)',                                 5],
  ['strrev("ae\\u0301")',                           'e\u0301a'],
  ['substr("hello", 1, 3)',                         'ell'],
  ['substr("hello", -3, -1)',                       'llo'],
  ['substr("e\\u0301x", 1, 9)',                     'x'],
  ['substr("hello", 9, 2)',                         ''],
  ['trim("!?a!b?!", "!?")',                         'a!b'],
  ['trim("!!", "!")',                               ''],
  ['trimprefix("v1.2", "v")',                       '1.2'],
  ['trimsuffix("a.com.com", ".com")',               'a.com'],
  [String.raw`trimspace(" \ta\n ")`,                'a'],
  // Regular expressions.
  ['regex("[a-z]+", "12ab34cd")',                   'ab'],
  [String.raw`regex("(\\d+)-(\\d+)?", "10-")`,      ['10', null]],
  ['regex("(?P<host>[^:]+):(?P<port>[0-9]+)", "db:5432")', { host: 'db', port: '5432' }],
  ['regexall("[a-z]", "a1b")',                      ['a', 'b']],
  ['regexall("x", "a1b")',                          []],
  ['regex_replace("a1b22", "[0-9]+", "<$0>")',      'a<1>b<22>'],
  ['regex_replace("ab", "(a)(?P<x>b)", "$${x}$1$$")', 'ba$'],
  ['regex_replace("abc", "", "-")',                 '-a-b-c-'],
  // Collections.
  ['chunklist(["a", "b", "c"], 2)',                 [['a', 'b'], ['c']]],
  ['chunklist(["a", "b"], 0)',                      [['a', 'b']]],
  ['coalesce(null, "", "b")',                       ''],
  ['coalescelist([], ["a"])',                       ['a']],
  ['compact(["a", "", null, "b"])',                 ['a', 'b']],
  ['concat(["a"], [], ["b", "a"])',                 ['a', 'b', 'a']],
  ['contains(["a", "b"], "b")',                     true],
  ['contains([["a"], { x = 1 }], { x = 1 })',       true],
  ['contains([1], "1")',                            false],
  ['distinct(["b", "a", "b", 1, [1], [1]])',        ['b', 'a', 1, [1]]],
  ['element(["a", "b"], 3)',                        'b'],
  ['element(["a", "b"], -1)',                       'b'],
  ['flatten([["a"], [["b", []], "c"]])',            ['a', 'b', 'c']],
  ['index({ a = 1 }, "a")',                         1],
  ['keys({ b = 1, a = 2 })',                        ['a', 'b']],
  ['keys({ "\\U0001F600" = 1, "\\uFFFF" = 2 })',    ['\uFFFF', '😀']],
  ['values({ b = 1, a = 2 })',                      [2, 1]],
  ['length(["a"])',                                 1],
  ['length({})',                                    0],
  ['lookup({ a = 1 }, "b", "none")',                'none'],
  ['merge({ a = 1, b = 1 }, null, { b = 2 })',      { a: 1, b: 2 }],
  ['merge()',                                       {}],
  ['merge([{ a = 1 }, { b = 2 }]...)',              { a: 1, b: 2 }],
  ['range(3)',                                      [0, 1, 2]],
  ['range(3, 0)',                                   [3, 2, 1]],
  ['range(1, 2, 0.5)',                              [1, 1.5]],
  ['range(0)',                                      []],
  ['reverse(["a", "b"])',                           ['b', 'a']],
  ['reverse("ab")',                                 'ba'],
  ['slice(["a", "b", "c"], 1, 3)',                  ['b', 'c']],
  ['sort(["b", "a", "B"])',                         ['B', 'a', 'b']],
  ['zipmap(["a", "b"], [1, 2])',                    { a: 1, b: 2 }],
  ['setunion(["b"], ["a", "b"])',                   ['a', 'b']],
  ['setintersection(["a", "b"], ["b", "c"])',       ['b']],
  ['setsubtract(["a", "b"], ["b"])',                ['a']],
  ['setproduct(["a", "b"], [1, 2])',                [['a', 1], ['a', 2], ['b', 1], ['b', 2]]],
  ['setproduct(["a"], [])',                         []],
  // Numbers.
  ['abs(-2)',                                       2],
  ['ceil(1.2)',                                     2],
  ['ceil(-0.5)',                                    0],
  ['floor(-1.2)',                                   -2],
  ['log(8, 2)',                                     3],
  ['max(1, "3", 2)',                                3],
  ['max([1, 5]...)',                                5],
  ['min(2, -1)',                                    -1],
  ['parseint("-ff", 16)',                           -255],
  ['parseint("Z", 62)',                             61],
  ['pow(2, 10)',                                    1024],
  ['signum(-7)',                                    -1],
  ['"${1 / 8000000}"',                              1.25e-7],
  ['"x${1 / 8000000}"',                             'x0.000000125'],
  // Encodings and hashes.
  ['base64encode("ä")',                             'w6Q='],
  ['base64decode("w6Q=")',                          'ä'],
  ['jsonencode({ b = [1, "<"], a = null })',        '{"a":null,"b":[1,"\\u003c"]}'],
  [String.raw`jsondecode("{\"__proto__\": [1.5, null, true]}")`, JSON.parse('{"__proto__":[1.5,null,true]}')],
  ['urlencode("a b/ä*")',                           'a+b%2F%C3%A4%2A'],
  ['md5("a")',                                      '0cc175b9c0f1b6a831c399e269772661'],
  ['sha1("a")',                                     '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8'],
  ['substr(sha256("a"), 0, 8)',                     'ca978112'],
  ['substr(sha512("a"), 0, 8)',                     '1f40fc92'],
  ['uuidv5("dns", "www.example.com")',              '2ed6657d-e927-568b-95e1-2665a8aea6a2'],
  // Types.
  ['tostring(1.50)',                                '1.5'],
  ['tonumber("1.5")',                               1.5],
  ['tobool("true")',                                true],
  ['tolist(toset(["b", "a", "b"]))',                ['a', 'b']],
  ['toset([10, 9, 10])',                            [9, 10]],
  ['toset(["b", 1])',                               ['1', 'b']],
  ['tomap({ a = 1 })',                              { a: 1 }],
  ['tostring(null)',                                null],
  ['convert(["1", "2"], list(number))',             [1, 2]],
  ['convert(["b", "a", "b"], set(string))',         ['a', 'b']],
  ['can(regex("x", "abc"))',                        false],
  ['can(1 + 1)',                                    true],
  ['try(var.nothing, [][0], "c")',                  'c'],
  ['try(null, "c")',                                null],
  // Times, networks, paths.
  ['formatdate("EEE, DD MMM YYYY hh:mm:ss ZZZ", "2026-11-26T08:05:09Z")', 'Thu, 26 Nov 2026 08:05:09 UTC'],
  ['formatdate("YY-M-D \'at\' H AA ZZZZZ", "2026-01-02T13:00:00-08:30")', '26-1-2 at 1 PM -08:30'],
  ['timeadd("2026-12-31T23:59:59Z", "1m1s")',       '2027-01-01T00:01:00Z'],
  ['timeadd("2026-12-31T23:00:00+02:00", "-1h")',   '2026-12-31T22:00:00+02:00'],
  ['cidrhost("10.1.2.0/24", 5)',                    '10.1.2.5'],
  ['cidrhost("10.1.2.0/24", -1)',                   '10.1.2.255'],
  ['cidrhost("fd00::/8", 18)',                      'fd00::12'],
  ['cidrnetmask("172.16.0.0/12")',                  '255.240.0.0'],
  ['cidrsubnet("10.0.0.0/8", 8, 2)',                '10.2.0.0/16'],
  ['cidrsubnet("fd00:fd12:3456::/48", 16, 162)',    'fd00:fd12:3456:a2::/64'],
  ['cidrsubnets("10.1.0.0/16", 4, 8, 4)',           ['10.1.0.0/20', '10.1.16.0/24', '10.1.32.0/20']],
  ['basename("/a/b.txt")',                          'b.txt'],
  ['dirname("/a/b/c.txt")',                         '/a/b'],
]

t.test('each function comes to what it says', async (t) => {
  for (const [expression, expected] of results) t.same(evaluated(expression), expected, expression)
  const source = results.map(([expression]) => expression).join('\n')
  t.same(
    functionNames().filter((name) => !source.includes(`${name}(`)),
    [],
    'and every one has a row',
  )
})

// oxfmt-ignore
const refused: readonly (readonly [string, RegExp])[] = [
  ['nothing()',                        /^x\.hcl:1:5: there is no function nothing; there are abs, base64decode, .*zipmap$/],
  ['constructor()',                    /there is no function constructor/],
  ['__proto__()',                      /there is no function __proto__/],
  ['upper()',                          /upper\(\) is called with 0 arguments: write upper\(text\)/],
  ['upper("a", "b")',                  /called with 2 arguments/],
  ['upper(["a"])',                     /^x\.hcl:1:11: upper\(\): expected a text, found a list/],
  ['upper(null)',                      /expected a text, found null/],
  ['join(",", [["a"]])',               /expected a list of texts, found a list/],
  ['abs("one")',                       /expected a number, found a text/],
  ['upper("a"...)',                    /before \.\.\. comes a list, not a text/],
  ['upper(["a"]..., "b")',             /behind \.\.\. comes \), not "\\""/],
  ['["a"...]',                         /separated by commas/],
  ['max()',                            /write max\(number, numbers…\)/],
  ['format("%d", "x")',                /%d takes a number, not a text/],
  ['format("%d", 1.5)',                /%d takes a whole number, not 1\.5/],
  ['format("%d")',                     /%d has no value/],
  ['format("%s", "a", "b")',           /uses 1 of 2 values/],
  ['format("%z", 1)',                  /no verb %z/],
  ['format("%!", 1)',                  /% is no verb/],
  ['format("%[9]d", 1)',               /%\[9\]d has no value/],
  ['formatlist("%s%s", ["a"], [])',    /of one length/],
  ['regex("a", "b")',                  /matches nothing/],
  ['regex("(a", "b")',                 /^x\.hcl:1:11: regex\(\): the regular expression has a \( without/],
  ['regex("(?=a)", "b")',              /look-around/],
  ['regex("(a)(?P<n>b)", "ab")',       /either all groups/],
  ['coalesce(null, null)',             /all values are null/],
  ['coalescelist([])',                 /all lists are empty/],
  ['element([], 0)',                   /the list is empty/],
  ['index(["a"], 1)',                  /a list has no "1"/],
  ['lookup({}, "constructor")',        /there is no "constructor"/],
  ['length("a")',                      /found a text; see strlen\(\)/],
  ['range(1, 2, 0)',                   /no step of 0 leads from 1 to 2/],
  ['slice(["a"], 1, 3)',               /a whole number from 0 to 1, found 3/],
  ['zipmap(["a"], [])',                /1 keys and 0 values/],
  ['pow(10, 400)',                     /pow\(\): there is no exact result/],
  ['log(0, 2)',                        /no exact result/],
  ['parseint("9", 8)',                 /no whole number of base 8/],
  ['parseint("99999999999999999", 10)', /no exact result/],
  ['base64decode("a")',                /not base64/],
  ['base64decode("/w==")',             /no text in UTF-8/],
  ['jsondecode("{")',                  /not valid JSON/],
  ['jsondecode("12345678901234567890")', /too large to be kept exactly/],
  ['jsondecode("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]")', /nests deeper than 32/],
  ['tobool("yes")',                    /expected true or false/],
  ['tonumber("")',                     /no number/],
  ['convert(["x"], list(number))',     /a list cannot be made a list/],
  ['convert(1, integer)',              /a type is one of/],
  ['try(var.x, upper([]))',            /no expression has a value; of the last: x\.hcl:1:22: upper\(\)/],
  ['timeadd("2026-02-30T00:00:00Z", "1h")', /a time is written as/],
  ['timeadd("2026-02-28T00:00:00Z", "1 hour")', /a duration is written as/],
  ['formatdate("Q", "2026-02-28T00:00:00Z")', /no verb Q/],
  ['cidrhost("10.0.0.0/33", 1)',       /a network is written as/],
  ['cidrhost("10.0.0.0/30", 4)',       /has 4 addresses/],
  ['cidrsubnets("10.0.0.0/30", 1, 1, 1)', /has no room/],
  ['upper(HOME)',                      /HOME is no value/],
  ['file("x")',                        /file\(\) reads a disk, .*-var "text=/],
  ['timestamp()',                      /another one each time/],
]

t.test('each refusal says where and what', async (t) => {
  for (const [expression, message] of refused) {
    t.throws(() => evaluated(expression), { code: 'invalid_argument', message }, expression)
  }
  for (const name of Object.keys(refusedFunctions)) {
    t.throws(() => evaluated(`${name}()`), { message: new RegExp(`${name}\\(\\) `) }, name)
  }
})

t.test(`any function takes or refuses any arguments (seed ${seed})`, async (t) => {
  const words = ['null', 'true', '-1', '0', '2', '1.5', '9007199254740991', '1e-300', '"a"', '""']
  const texts = [
    '"é😀"',
    '"%s%d%-5v"',
    '"(a)|b*"',
    '"2026-11-26T08:00:00Z"',
    '"10.0.0.0/8"',
    '"fd00::/8"',
  ]
  const lists = ['[]', '["b", "a"]', '[3, null]', '[["x"], {}]', '{ a = 1 }', '{ __proto__ = [] }']
  const argument = fc.constantFrom(...words, ...texts, ...lists, 'toset(["b"])', 'string')
  const call = fc.tuple(
    fc.constantFrom(...functionNames()),
    fc.array(argument, { maxLength: 4 }),
    fc.boolean(),
  )
  fc.assert(
    fc.property(call, ([name, args, spread]) => {
      try {
        evaluated(
          `jsonencode(${name}(${args.join(', ')}${spread && args.length > 0 ? '...' : ''}))`,
        )
      } catch (error) {
        if (!(error instanceof MusterError) || error.code !== 'invalid_argument') throw error
      }
    }),
    { numRuns: amount('FUZZ_HCL_FUNCTIONS', { gate: 500, long: 50_000 }), seed },
  )
  t.pass('nothing but a refusal was thrown')
})
