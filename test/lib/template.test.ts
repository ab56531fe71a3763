/** Templates after `-t`: what the peers' users write, as Go would print it. */
import t from 'tap'
import { parseJson, printJson } from '../../src/lib/exact-json.ts'
import { renderTemplate } from '../../src/lib/template/evaluate.ts'

const data = parseJson(
  `{"Name":"a","Count":3,"Big":12345678901234567890,"On":true,"None":null,"Empty":[],
    "List":[{"Name":"x","Tags":["p","q"]},{"Name":"y","Tags":[]}],
    "Items":{"b":"2","a":"1","__proto__":"own","constructor":"c"}}`,
  'the data',
)

// Template, and what it prints.
const cases: readonly (readonly [string, string])[] = [
  ['plain', 'plain'],
  ['{{.Name}}', 'a'],
  ['{{ .Count }}/{{.Big}}', '3/12345678901234567890'],
  ['{{.On}} {{.None}}', 'true <no value>'],
  ['{{.List}}', '[map[Name:x Tags:[p q]] map[Name:y Tags:[]]]'],
  ['{{range .List}}{{.Name}},{{end}}', 'x,y,'],
  ['{{range $i, $e := .List}}{{$i}}={{$e.Name}} {{end}}', '0=x 1=y '],
  ['{{range $k, $v := .Items}}{{$k}}={{$v}} {{end}}', '__proto__=own a=1 b=2 constructor=c '],
  ['{{range .Empty}}x{{else}}none{{end}}', 'none'],
  ['{{range .List}}{{if eq .Name "y"}}{{continue}}{{end}}{{.Name}}{{end}}', 'x'],
  ['{{range .List}}{{.Name}}{{break}}{{end}}', 'x'],
  ['{{range .List}}{{.Name}}:{{len .Tags}}:{{$.Name}} {{end}}', 'x:2:a y:0:a '],
  ['{{if .On}}yes{{else}}no{{end}}', 'yes'],
  ['{{if .Empty}}1{{else if eq .Count 3}}2{{else}}3{{end}}', '2'],
  ['{{if and .On (not .None)}}both{{end}}', 'both'],
  ['{{or .None .Name "z"}}', 'a'],
  ['{{with .Name}}<{{.}}>{{end}}{{with .None}}{{else}}-{{end}}', '<a>-'],
  ['{{$x := .Name}}{{$x = "b"}}{{$x}}', 'b'],
  [
    '{{printf "%-5s|%5d|%05.1f|%q|%x%%" .Name .Count 2.25 .Name "hi"}}',
    'a    |    3|002.3|"a"|6869%',
  ],
  ['{{.Name | printf "%s-%s" "z"}}', 'z-a'],
  ['{{printf "%d" .Name}}', '%!d(string=a)'],
  ['{{printf "%s"}}', '%!s(MISSING)'],
  ['{{index .Items "a"}}{{index .Items "zzz"}}{{index .List 1 "Name"}}', '1y'],
  ['{{(index .List 0).Name}}', 'x'],
  ['{{slice .Name 0 1}}{{len "äb"}}', 'a3'],
  ['{{lt 1 2}}{{ge 2 2}}{{gt "b" "a"}}{{ne .Count 3}}{{eq .Count 1 2 3}}', 'truetruetruefalsetrue'],
  ['{{print 1 2 "x" 3}}|{{println .Name}}', '1 2x3|a\n'],
  ['a {{- /* not shown */ -}} b', 'ab'],
  ['a  {{- .Name -}}  b', 'aab'],
  ['{{if .On  -}}  b{{end \n -}}  c {{3 \t-}} d', 'bc 3d'],
  ['{{/* a comment */}}x', 'x'],
  ['{{"a\\tb\\u00e4"}}{{`raw\\n`}}', 'a\tbäraw\\n'],
  ['{{json .Items.a}}', '"1"'],
  ['{{-3}}', '-3'],
]

for (const [template, expected] of cases) {
  t.test(`template ${template}`, async (t) => {
    t.equal(renderTemplate(template, data), expected)
  })
}

// Template, and what the person who wrote it is told.
const refused: readonly (readonly [string, RegExp])[] = [
  ['{{.Nmae}}', /there is no field \.Nmae; there are \.Name, \.Count/],
  ['{{.Name.length}}', /line 1: \.length is asked of a string$/],
  ['{{.Items.toString}}', /there is no field \.toString/],
  ['{{.constructor}}', /there is no field \.constructor/],
  ['{{.List.length}}', /\.length is asked of a list/],
  ['{{constructor .}}', /there is no function constructor; there are and, eq/],
  ['{{range .Name}}{{end}}', /range needs a list or a map, not a string/],
  ['{{if .On}}', /a \{\{if\}\} lacks its \{\{end\}\}/],
  ['{{if .On}}{{else}}', /an \{\{else\}\} lacks its \{\{end\}\}/],
  ['{{end}}', /closes nothing/],
  ['{{.Name', /is never closed with \}\}/],
  ['{{}}', /a value is missing/],
  ['{{.Name .On}}', /only functions take arguments/],
  ['{{$x}}', /there is no variable \$x/],
  ['{{break}}', /outside of any range/],
  ['{{template "x"}}', /\{\{template\}\} is not supported; there are if, else/],
  ['{{len 3}}', /len needs a text, a list or a map/],
  ['{{index .List 2}}', /index 2 is not in a list of 2/],
  ['{{not}}', /not does not take 0 arguments/],
  ['{{printf "%9999s" .Name}}', /wider than 1000/],
  ['{{.Name # }}', /is not understood/],
  ['{{"a\\q"}}', /\\q is no escape/],
  ['{{if .On}}'.repeat(150), /nests deeper than 100/],
  [`{{${'('.repeat(150)}`, /never closed/],
  [`{{${'('.repeat(150)}.On${')'.repeat(150)}}}`, /nests deeper than 100/],
  ['x'.repeat(70_000), /longer than 65536/],
]

for (const [template, expected] of refused) {
  t.test(`template ${template.slice(0, 60)} is refused`, async (t) => {
    t.throws(() => renderTemplate(template, data), { message: expected })
  })
}

t.test('JSON keeps every digit of a whole number, and every key', async (t) => {
  const text = '{"Time":1700000000123456789,"Half":1.5,"__proto__":{"x":1}}'
  const value = parseJson(text, 'it')
  t.equal(printJson(value).replaceAll(/\s/g, ''), text)
  t.throws(() => parseJson('{', 'the answer'), { message: 'the answer is not valid JSON' })
})
