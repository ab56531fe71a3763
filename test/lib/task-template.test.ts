/** Templates of tasks: what their users write, what becomes of it, and what ends one that takes too much. */
import t from 'tap'
import type { Json } from '../../src/lib/exact-json.ts'
import type { Dependency, TaskData } from '../../src/lib/template/task-functions.ts'
import { parseTaskTemplate, renderTaskTemplate } from '../../src/lib/template/task-template.ts'

const values: Readonly<Record<string, Json>> = {
  'key app/color': 'blue',
  'key app/json': '{"a":[1,2],"b":{"c":"d"},"n":null}',
  'keys app/': [
    { Key: 'color', Value: 'blue' },
    { Key: 'deep/', Value: '' },
    { Key: 'deep/size', Value: '3' },
  ],
  'key app/empty': '',
  'key app/digits': `[${'7'.repeat(200_000)}]`,
  'key app/map': `{"a":{${Array.from({ length: 5_000 }, (_, index) => `"${index}":0`).join(',')}}}`,
  'keys none/': [],
  'keys deep/': Array.from({ length: 1_000 }, (_, index) => ({ Key: `a/${index}`, Value: '' })),
  'variable nomad/jobs/web': { name: 'bob', password: 's3cret', __proto__: 'own' },
  'variable nomad/jobs/odd': { Tuples: 'mine', b: '2', a: '1' },
  'service db': [
    { ID: 'a', Name: 'db', Address: '10.0.0.1', Port: 5432, Tags: ['primary'] },
    { ID: 'b', Name: 'db', Address: '10.0.0.2', Port: 5433, Tags: [] },
  ],
}

function dataOf(asked: string[] = []): TaskData {
  const look = ({ type, path }: Dependency): Json => {
    asked.push(`${type} ${path}`)
    return values[`${type} ${path}`] ?? null
  }
  return {
    needed: look,
    wanted: look,
    env: (name) => (name === 'NOMAD_JOB_ID' ? 'web' : null),
  }
}

function render(template: string, data = dataOf(), delims = { left: '{{', right: '}}' }): string {
  return renderTaskTemplate(parseTaskTemplate(template, delims, 'it'), data, 'it')
}

// Template, and what is in the file.
const cases: readonly (readonly [string, string])[] = [
  ['{{ key "app/color" }}', 'blue'],
  ['{{ keyOrDefault "app/none" "red" }} {{ keyOrDefault "app/color" "red" }}', 'red blue'],
  ['{{ if keyExists "app/color" }}yes{{ else }}no{{ end }}', 'yes'],
  ['{{ with nomadVar "nomad/jobs/web" }}{{ .name }}:{{ .password }}{{ end }}', 'bob:s3cret'],
  ['{{ with nomadVar "nomad/jobs/web" }}{{ if .tls }}on{{ else }}off{{ end }}{{ end }}', 'off'],
  [
    '{{ with nomadVar "nomad/jobs/web" }}{{ range .Tuples }}{{ .K }}={{ .V }} {{ end }}{{ end }}',
    'name=bob password=s3cret ',
  ],
  [
    '{{ with nomadVar "nomad/jobs/odd" }}{{ range .Keys }}{{ . }} {{ end }}{{ end }}',
    'Tuples a b ',
  ],
  ['{{ (nomadVar "nomad/jobs/odd").Values | join "," }}', 'mine,1,2'],
  ['{{ with nomadVar "nomad/jobs/odd" }}{{ .Tuples }}{{ .a.Value }}{{ end }}', 'mine1'],
  [
    '{{ range $k, $v := nomadVar "nomad/jobs/odd" }}{{ $k }}{{ $v.Value }}{{ end }}',
    'Tuplesminea1b2',
  ],
  ['{{ with nomadVar "nomad/jobs/odd" }}{{ range .c }}{{ else }}none{{ end }}{{ end }}', 'none'],
  ['{{ range (key "app/json" | parseJSON).n }}x{{ end }}', ''],
  ['{{ if nomadVarExists "nomad/jobs" }}1{{ else }}0{{ end }}', '0'],
  ['{{ range ls "app" }}{{ .Key }}={{ .Value }}\n{{ end }}', 'color=blue\n'],
  ['{{ range tree "app/" }}{{ .Key }}={{ .Value }} {{ end }}', 'color=blue deep/size=3 '],
  ['{{ range ls "none" }}x{{ else }}nothing{{ end }}', 'nothing'],
  ['{{ range service "db" }}{{ .Address }}:{{ .Port }},{{ end }}', '10.0.0.1:5432,10.0.0.2:5433,'],
  ['{{ range nomadService "primary.db" }}{{ .Address }}{{ end }}', '10.0.0.1'],
  ['{{ env "NOMAD_JOB_ID" }}{{ env "NONE" }}{{ envOrDefault "NONE" "-" }}', 'web-'],
  ['{{ $x := key "app/color" | toUpper }}{{ $x }} {{ $x | toLower }}', 'BLUE blue'],
  ['{{ (key "app/json" | parseJSON).b.c }}', 'd'],
  ['{{ with key "app/json" | parseJSON }}{{ range .a }}{{ . }};{{ end }}{{ end }}', '1;2;'],
  ['{{ with nomadVar "nomad/jobs/web" }}{{ .name | toJSON }}{{ end }}', '"bob"'],
  ['{{ "a,b" | split "," | join "-" }}{{ "x" | base64Encode | base64Decode }}', 'a-bx'],
  ['{{ trimSpace " a " }}{{ "v1.2" | trimPrefix "v" }}{{ replaceAll "a" "b" "aXa" }}', 'a1.2bXb'],
  ['{{ if and (eq (env "NOMAD_JOB_ID") "web") (not (keyExists "no")) }}ok{{ end }}', 'ok'],
  ['{{- /* said */ -}} a {{- "b" -}} c', 'abc'],
  ['{{ "a\nb" | indent 2 }}'.replace('\n', '\\n'), '  a\n  b'],
  ['{{ contains "b" (split "," "a,b") }} {{ parseInt "7" }} {{ parseBool "true" }}', 'true 7 true'],
  ['{{ contains "b" "abc" }} {{ "abc" | contains "d" }}', 'true false'],
  [
    '{{ parseInt "" }} {{ parseFloat "" }} {{ parseBool "" }} {{ parseJSON "" | toJSON }}',
    '0 0 false {}',
  ],
  ['{{ parseFloat "1.5" }} {{ parseFloat "-2e3" }}', '1.5 -2000'],
  [
    '{{ len (split "," " ") }}{{ range split "," "" }}x{{ end }}{{ split "," " a,b\\n" | join "-" }}',
    '0a-b',
  ],
  ['{{ keyOrDefault "app/empty" "red" }}', 'red'],
  ['{{ "a\\n\\nb\\n" | indent 2 }}', '  a\n\n  b\n'],
]

for (const [template, expected] of cases) {
  t.test(`template ${template}`, async (t) => {
    t.equal(render(template), expected)
  })
}

t.test('other signs may stand around actions', async (t) => {
  const delims = { left: '[[', right: ']]' }
  t.equal(render('{{ x }} [[- key "app/color" -]] !', dataOf(), delims), '{{ x }}blue!')
})

t.test('what a template is made of is asked for, whatever is known of it', async (t) => {
  const asked: string[] = []
  render('{{ range ls "a" }}{{ end }}{{ if keyExists "b" }}{{ key "c" }}{{ end }}', dataOf(asked))
  t.strictSame(asked, ['keys a/', 'key b'])
})

// Template, and what the person who wrote it is told at registration.
const unread: readonly (readonly [string, RegExp])[] = [
  [
    'a\nb {{ secret "x" }}',
    /^it: line 2: there is no function secret; there are and, base64Decode/,
  ],
  ['\n\n{{ if true }}', /line 3: a \{\{if\}\} lacks its \{\{end\}\}/],
  ['{{/* a\n\n */}}{{ key }}', /line 3: key does not take 0 arguments/],
  ['{{ "x" | keyExists | key "a" }}', /line 1: key does not take 2 arguments/],
  ['{{ executeTemplate "x" }}', /no function executeTemplate/],
  ['{{ json . }}', /no function json/],
  ['x'.repeat(300_000), /longer than 262144/],
]

for (const [template, expected] of unread) {
  t.test(`template ${template.slice(0, 40)} is not read`, async (t) => {
    t.throws(() => render(template), { code: 'invalid_argument', message: expected })
  })
}

// Template, and why it is not rendered: nothing of a value is told.
const unrendered: readonly (readonly [string, RegExp])[] = [
  [
    '{{ with nomadVar "nomad/jobs/web" }}{{ range .user }}x{{ end }}{{ end }}',
    /there is no \.user$/,
  ],
  ['{{ with key "app/json" | parseJSON }}{{ range .Tuples }}{{ end }}{{ end }}', /no \.Tuples$/],
  ['{{ with nomadVar "nomad/jobs/web" }}\n{{ .user }}{{ end }}', /line 2: there is no \.user$/],
  [
    '{{ with nomadVar "nomad/jobs/web" }}{{ .name.first }}{{ end }}',
    /\.first is asked of a string$/,
  ],
  ['{{ key "app/none" }}', /there is no value$/],
  ['{{ key "app/color" | parseJSON }}', /parseJSON needs valid JSON$/],
  ['{{ key "app/color" | base64Decode | parseInt }}', /parseInt needs the digits/],
  ['{{ parseFloat "1.5x" }}', /parseFloat needs a number/],
  ['{{ mustEnv "NONE" }}', /the task has no environment variable NONE/],
  [
    '{{ with nomadVar "nomad/jobs/web" }}{{ mustEnv .password }}{{ end }}',
    /no environment variable of the computed name that mustEnv was given$/,
  ],
  ['{{ "NONE" | mustEnv }}', /of the computed name that mustEnv was given$/],
  ['{{ service "db@dc2" }}', /service takes NAME or TAG\.NAME/],
  ['{{ toUpper 3 }}', /a text is needed, not a int/],
  [`{{ $x := "abcdefgh" }}${'{{ $x = print $x $x }}'.repeat(20)}{{ $x }}`, /makes more than/],
  [
    `{{ $x := "aaaaaaaaaa" }}${'{{ $x = print $x $x }}'.repeat(14)}{{ replaceAll "a" $x $x }}`,
    /longer than 1048576/,
  ],
  [
    `{{ $x := split "," "${','.repeat(1_000)}" }}{{ range $x }}{{ range $x }}{{ end }}{{ end }}`,
    /more than 1000000 steps/,
  ],
  [`{{ key "app/deep" | parseJSON }}`, /nests too deeply|valid JSON/],
]

// Each of them, in a loop of 5,000 turns, goes over thousands of members or letters that a few letters of the template name.
const costly: readonly (readonly [string, string])[] = [
  [`split "," "${','.repeat(200_000)}"`, 'if contains "x" $x'],
  ['key "app/digits" | parseJSON', 'if contains "x" $x'],
  ['key "app/map" | parseJSON', 'if eq (print $x) ""'],
  ['key "app/map" | parseJSON', 'range $x.a }}{{ break'],
  ['key "app/map"', 'if parseJSON $x | not'],
  [`split "," "${','.repeat(5_000)}"`, 'with slice $x 1'],
  ['"deep"', 'with ls $x'],
]

for (const [value, action] of costly) {
  t.test(`{{ ${action} }} of much is not done over and over`, async (t) => {
    const turns = `{{ range split "," "${','.repeat(5_000)}" }}{{ ${action} }}{{ end }}{{ end }}`
    t.throws(() => render(`{{ $x := ${value} }}${turns}`), { message: /more than 1000000 steps$/ })
  })
}

t.test('to look at one member of many costs no more than of few', async (t) => {
  const looks =
    '{{ if $m.a }}{{ if not (index $m.a "7") }}{{ len $m.a }}{{ end }}{{ end }}' +
    '{{ range $x }}{{ break }}{{ end }}{{ index $x 3 }}'
  const declared = '{{ $m := key "app/map" | parseJSON }}{{ $x := split "," "' + ','.repeat(5_000)
  const text = render(`${declared}" }}{{ range $x }}${looks}{{ end }}`)
  t.equal(text, '5000'.repeat(5_001))
})

for (const [template, expected] of unrendered) {
  t.test(`template ${template.slice(0, 60)} is not rendered`, async (t) => {
    const deep = '['.repeat(200_000)
    const data = dataOf()
    const look = (dependency: Dependency): Json =>
      dependency.path === 'app/deep' ? deep : data.needed(dependency, true)
    t.throws(() => render(template, { ...data, needed: look }), {
      code: 'invalid_argument',
      message: expected,
    })
  })
}
