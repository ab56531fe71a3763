/** Job files: what they come to, and what is refused in which line. */
import { readFile } from 'node:fs/promises'
import fc from '../../support/fast-check.ts'
import t from 'tap'
import { readJob } from '../../../src/domains/jobs/draft-model.ts'
import { parseJobFile } from '../../../src/domains/jobs/hcl-job-model.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { amount, seed } from '../../support/randomness.ts'
import { problemsOf } from './job-drafts.ts'

const shop = await readFile(new URL('shop.nomad.hcl', import.meta.url), 'utf8')
const everything = await readFile(new URL('everything.nomad.hcl', import.meta.url), 'utf8')

t.test('a file with every block comes to a job that is in order', async (t) => {
  const job = parseJobFile(everything, 'image = "redis:8"')
  t.same(problemsOf(job), [])
  t.equal(readJob(job).refused.count, 0)
  const expected: unknown = JSON.parse(
    await readFile(new URL('everything.json', import.meta.url), 'utf8'),
  )
  t.same(job, expected)
})

t.test(
  'a file with functions, directives, for and dynamic comes to a job that is in order',
  async (t) => {
    const job = parseJobFile(shop, 'image = "shop/web:1.4"\nstage = "production"')
    t.same(problemsOf(job), [])
    const expected: unknown = JSON.parse(
      await readFile(new URL('shop.json', import.meta.url), 'utf8'),
    )
    t.same(job, expected)
    t.throws(() => parseJobFile(shop, 'image = "shop/web"'), {
      message: /^job:15:3: the value of the variable image is not valid: An image has a version/,
    })
  },
)

const inTask = (text: string) => `job "j" {\n group "g" {\n  task "t" {\n${text}\n  }\n }\n}`

// oxfmt-ignore
const readable: readonly (readonly [string, string, string, unknown])[] = [
  ['a task of the job itself', 'job "j" {\n task "t" {\n driver = "x"\n }\n}', '', { TaskGroups: [{ Name: 't', Tasks: [{ Name: 't', Driver: 'x' }] }] }],
  ['tokens of other programs, which are read over', 'job "j" {\n vault_token = "s3cr3t"\n consul_token = var.none\n}', '', {}],
  ['an id beside the label', 'job "j" {\n id = "i"\n}', '', { ID: 'i' }],
  ['numbers as text and text as numbers', 'job "j" {\n priority = "70"\n name = 7\n all_at_once = "true"\n}', '', { Priority: 70, Name: '7', AllAtOnce: true }],
  ['a value that is given', 'variable "n" {}\njob "j" {\n name = var.n\n}', 'n = "x"', { Name: 'x' }],
  ['a number by its default', 'variable "n" {\n default = 3\n}\njob "j" {\n priority = var.n\n name = var.n == 4 ? "four" : "other"\n}', 'n = "4"', { Priority: 4, Name: 'four' }],
  ['true or false by its default', 'variable "b" {\n default = false\n}\njob "j" {\n name = var.b ? "on" : "off"\n}', 'b = "true"', { Name: 'on' }],
  ['a text by its default', 'variable "s" {\n default = "x"\n}\njob "j" {\n name = var.s == "4" ? "text" : "other"\n}', 's = 4', { Name: 'text' }],
  ['a list by its default', 'variable "d" {\n default = ["a"]\n}\njob "j" {\n datacenters = var.d\n}', 'd = "[\\"b\\", \\"c\\"]"', { Datacenters: ['b', 'c'] }],
  ['items by those of the default', 'variable "d" {\n default = [1]\n}\njob "j" {\n priority = var.d[0] == 2 ? 2 : 3\n}', 'd = ["2"]', { Priority: 2 }],
  ['items that are not alike', 'variable "d" {\n default = [1, "a"]\n}\njob "j" {\n priority = var.d[0] == 2 ? 2 : 3\n name = var.d[1] == "3" ? "x" : "y"\n}', 'd = ["2", 3]', { Priority: 2, Name: 'x' }],
  ['an object by its default', 'variable "o" {\n default = { a = 1 }\n}\njob "j" {\n priority = var.o.a == 2 ? 2 : 3\n}', 'o = "{ a = \\"2\\" }"', { Priority: 2 }],
  ['members where the default has none', 'variable "o" {\n default = {}\n}\njob "j" {\n name = var.o.a\n}', 'o = { a = "x" }', { Name: 'x' }],
  ['a text where the default is null', 'variable "n" {\n default = null\n}\njob "j" {\n name = var.n == "4" ? "text" : "other"\n}', 'n = "4"', { Name: 'text' }],
  ['a list that is given as text', 'variable "d" {\n type = list(string)\n}\njob "j" {\n datacenters = var.d\n}', 'd = "[\\"a\\", \\"b\\"]"', { Datacenters: ['a', 'b'] }],
  ['an object of types', 'variable "o" {\n type = object({ a = number, b = list(any) })\n default = { a = "1", b = [] }\n}\njob "j" {\n priority = var.o.a\n}', '', { Priority: 1 }],
  ['a number of nanoseconds', inTask('kill_timeout = 1000'), '', { TaskGroups: [{ Tasks: [{ KillTimeout: 1000 }] }] }],
  ['dynamic blocks', inTask('dynamic "template" {\nfor_each = { b = 2, a = 1 }\ncontent {\ndestination = "local/${template.key}"\ndata = template.value\n}\n}'), '', { TaskGroups: [{ Tasks: [{ Templates: [{ DestPath: 'local/a', EmbeddedTmpl: '1' }, { DestPath: 'local/b', EmbeddedTmpl: '2' }] }] }] }],
  ['dynamic blocks with labels and an iterator', 'job "j" {\n dynamic "group" {\n for_each = toset(["b", "a"])\n iterator = g\n labels = [g.key]\n content {\n dynamic "task" {\n for_each = [1, 2]\n labels = ["${g.value}${task.value}"]\n content {\n user = task.key\n }\n }\n }\n }\n}', '', { TaskGroups: [{ Name: 'a', Tasks: [{ Name: 'a1', User: '0' }, { Name: 'a2', User: '1' }] }, { Name: 'b' }] }],
  ['dynamic blocks of a config', inTask('config {\ndynamic "mount" {\nfor_each = ["a", "b"]\ncontent {\ntarget = "/${mount.value}"\n}\n}\n}'), '', { TaskGroups: [{ Tasks: [{ Config: { mount: [{ target: '/a' }, { target: '/b' }] } }] }] }],
  ['functions of a local', 'locals {\n names = [for n in split(",", "a,b") : upper(n)]\n}\njob "j" {\n datacenters = local.names\n}', '', { Datacenters: ['A', 'B'] }],
  ['a set of a variable', 'variable "d" {\n type = set(string)\n default = ["b", "a", "b"]\n}\njob "j" {\n datacenters = var.d\n}', '', { Datacenters: ['a', 'b'] }],
  ['values that are valid', 'variable "x" {\n type = number\n validation {\n condition = contains(local.known, var.x)\n error_message = "It is not known."\n }\n}\nlocals {\n known = [var.y, 3]\n}\nvariable "y" {\n default = 2\n}\njob "j" {\n priority = var.x\n}', 'x = "2"', { Priority: 2 }],
  ['names like __proto__', inTask('env {\n __proto__ = "x"\n}'), '', { TaskGroups: [{ Tasks: [{ Env: JSON.parse('{"__proto__":"x"}') }] }] }],
]

for (const [what, text, variables, expected] of readable) {
  t.test(`reads ${what}`, async (t) => {
    t.match(parseJobFile(text, variables), expected)
  })
}

t.test('variables of the older form have a default', async (t) => {
  const text =
    'variables {\n  count = 2\n  name = "a"\n}\njob "j" {\n  priority = var.count\n  name = var.name\n}'
  t.match(parseJobFile(text, ''), { Priority: 2, Name: 'a' })
  t.match(parseJobFile(text, 'count = "3"\n'), { Priority: 3, Name: 'a' })
  t.throws(() => parseJobFile(text, 'count = "x"\n'), /is not of its default's type number/)
})

// oxfmt-ignore
const refused: readonly (readonly [string, string, RegExp, string?])[] = [
  ['no job', 'locals {}', /^job:1:1: this file has no job/],
  ['two jobs', 'job "a" {}\njob "b" {}', /^job:2:1: a file has one job/],
  ['a job without a name', 'job {}', /^job:1:1: job has one name/],
  ['an attribute outside', 'a = 1\njob "j" {}', /^job:1:1: a stands outside of the job/],
  ['an unknown block', 'jobs "j" {}', /^job:1:1: a job file has no jobs; it has job, variable, variables, locals/],
  ['an unknown attribute', 'job "j" {\n  priorty = 1\n}', /^job:2:3: job has no priorty; it has .*priority/],
  ['an unknown block of a task', inTask('   foo {}'), /^job:4:4: task has no foo; it has .*template/],
  ['a secret of the vault', inTask('vault {}'), /^job:4:1: vault is not served: let a template/],
  ['a secret of the vault for a job', 'job "j" {\n vault {}\n}', /^job:2:2: vault is not served: let a template/],
  ['a secret of the vault for a group', 'job "j" {\n group "g" {\n vault {}\n}\n}', /^job:3:2: vault is not served: let a template/],
  ['Consul for a job', 'job "j" {\n consul {}\n}', /^job:2:2: consul is not served: services are registered/],
  ['a page of a job', 'job "j" {\n ui {}\n}', /^job:2:2: ui is not served: put descriptions/],
  ['a mode of a volume', 'job "j" {\n group "g" {\n volume "v" {\n type = "csi"\n attachment_mode = "file-system"\n}\n}\n}', /^job:5:2: attachment_mode is not served: volumes are folders/],
  ['another mode of a volume', 'job "j" {\n group "g" {\n volume "v" {\n access_mode = "x"\n}\n}\n}', /^job:4:2: access_mode is not served/],
  ['no other place', 'job "j" {\n group "g" {\n prevent_reschedule_on_lost = true\n}\n}', /^job:3:2: prevent_reschedule_on_lost is not served: Disconnect/],
  ['a collision of ports', 'job "j" {\n group "g" {\n network {\n port "p" {\n ignore_collision = true\n}\n}\n}\n}', /^job:5:2: ignore_collision is not served: a port/],
  ['no logs', inTask('logs {\ndisabled = true\n}'), /^job:5:1: disabled is not served: let the task/],
  ['templates at a restart', inTask('restart {\nrender_templates = true\n}'), /^job:5:1: render_templates is not served/],
  ['an older form with blocks', 'variables {\n a {}\n}\njob "j" {}', /^job:2:2: variables has neither a name nor blocks: write/],
  ['an older form with a name', 'variables "a" {\n}\njob "j" {}', /^job:1:1: variables has neither/],
  ['a variable of both forms', 'variables {\n a = 1\n}\nvariable "a" {}\njob "j" {}', /^job:4:1: the variable a stands twice/],
  ['a mesh', 'job "j" {\n group "g" {\n service {\n connect {}\n }\n }\n}', /^job:4:2: connect is not served: this program has no service mesh/],
  ['name servers', 'job "j" {\n group "g" {\n network {\n dns {}\n }\n }\n}', /^job:4:2: dns is not served: tasks resolve names/],
  ['a name of the network', 'job "j" {\n group "g" {\n network {\n hostname = "x"\n }\n }\n}', /^job:4:2: hostname is not served/],
  ['a dynamic block without content', inTask('dynamic "env" {}'), /^job:4:1: dynamic has one block, content: write dynamic "name"/],
  ['a dynamic block without for_each', inTask('dynamic "env" {\ncontent {}\n}'), /^job:4:1: dynamic has no for_each/],
  ['a dynamic block without a name', inTask('dynamic {}'), /^job:4:1: dynamic has one name/],
  ['a dynamic block with two contents', inTask('dynamic "env" {\ncontent {}\ncontent {}\n}'), /^job:6:1: dynamic has one block, content/],
  ['an attribute that dynamic has not', inTask('dynamic "env" {\nforeach = []\ncontent {}\n}'), /^job:5:1: dynamic has no foreach; it has content, for_each/],
  ['an iterator in quotes', inTask('dynamic "env" {\nfor_each = []\niterator = "x"\ncontent {}\n}'), /^job:6:12: an iterator is a name without quotes/],
  ['a dynamic block of a block that is not there', inTask('dynamic "foo" {\nfor_each = [1]\ncontent {}\n}'), /^job:4:1: task has no foo/],
  ['a dynamic block of no items', inTask('dynamic "foo" {\nfor_each = "x"\ncontent {}\n}'), /^job:5:12: expected a list or an object, found a text/],
  ['a block that dynamic makes twice', inTask('dynamic "logs" {\nfor_each = [1, 2]\ncontent {}\n}'), /^job:4:1: logs stands twice in task/],
  ['an iterator outside of its block', inTask('dynamic "logs" {\nfor_each = [1]\ncontent {}\n}\nuser = logs.value'), /logs\.value is no value/],
  ['labels that are a text', inTask('dynamic "env" {\nfor_each = [1]\nlabels = "x"\ncontent {}\n}'), /^job:6:10: labels must be a list of texts, not a text/],
  ['a text for a number', 'job "j" {\n priority = "high"\n}', /^job:2:13: priority must be a whole number, not a text/],
  ['a fraction', 'job "j" {\n priority = 1.5\n}', /priority must be a whole number/],
  ['a list for a text', 'job "j" {\n name = []\n}', /^job:2:9: name must be a text, not a list/],
  ['a bad duration', inTask('kill_timeout = "5"'), /^job:4:16: kill_timeout must be a duration, as "30s"/],
  ['a block twice', inTask('logs {}\nlogs {}'), /^job:5:1: logs stands twice in task/],
  ['a volume twice', 'job "j" {\n group "g" {\n volume "v" {}\n volume "v" {}\n }\n}', /^job:4:2: volume "v" stands twice/],
  ['an unknown variable', 'job "j" {\n name = var.x\n}', /^job:2:9: there is no var\.x in this file/],
  ['an unknown local', 'job "j" {\n name = local.x\n}', /there is no local\.x/],
  ['a computed name of what a task knows', 'job "j" {\n name = [for k in ["x"] : "${env[k]}"][0]\n}', /^job:2:33: env\[k\] is known only where a task runs: write its name out/],
  ['a name that is misspelled', 'job "j" {\n name = "${vra.x}"\n}', /vra\.x is no value/],
  ['a variable without a value', 'variable "x" {}\njob "j" {}', /^job:1:1: the variable x has no default and was given no value/],
  ['a default of another type', 'variable "x" {\n type = number\n default = "x"\n}\njob "j" {}', /^job:3:12: the default of the variable x is not of its type number/],
  ['a value of another type than the default', 'variable "x" {\n default = 1\n}\njob "j" {}', /^job:1:1: the value given for the variable x is not of its default's type number/, 'x = "many"'],
  ['an unknown type', 'variable "x" {\n type = text\n}\njob "j" {}', /^job:2:9: a type is one of string, number/],
  ['a value that is not valid', 'variable "x" {\n default = 7\n validation {\n condition = var.x < 5\n error_message = "Five is too many, and so is ${var.x}."\n }\n}\njob "j" {}', /^job:3:2: the value of the variable x is not valid: Five is too many, and so is 7\.$/],
  ['a validation without a message', 'variable "x" {\n default = 1\n validation {\n condition = true\n }\n}\njob "j" {}', /^job:3:2: write validation { condition = …, error_message/],
  ['a condition that is a text', 'variable "x" {\n default = 1\n validation {\n condition = "x"\n error_message = ""\n }\n}\njob "j" {}', /^job:4:14: a condition must be true or false, not a text/],
  ['a message that is a list', 'variable "x" {\n default = 1\n validation {\n condition = false\n error_message = []\n }\n}\njob "j" {}', /^job:5:18: error_message must be a text, not a list/],
  ['another block of a variable', 'variable "x" {\n default = 1\n check {}\n}\njob "j" {}', /^job:3:2: variable has no check; it has validation/],
  ['a default that refers to a local', 'variable "x" {\n default = try(local.y, 1)\n}\nlocals {\n y = var.x\n}\njob "j" {\n name = var.x.y\n}', /a number has no "y"/],
  ['a default that refers to a variable', 'variable "x" {\n default = var.x\n}\njob "j" {}', /^job:2:12: the value of a variable cannot refer to var\.x: use a local/],
  ['locals in a circle', 'locals {\n a = local.b\n b = local.a\n}\njob "j" {\n name = local.a\n}', /local\.a leads to itself/],
  ['locals in a circle with try', 'locals {\n a = try(local.b, 1)\n b = try(local.a, 2)\n}\njob "j" {\n name = local.a\n}', /local\.a leads to itself/],
  ['a long way of locals', `locals {\n${Array.from({ length: 50 }, (_, n) => `a${n} = local.a${n + 1}`).join('\n')}\n}\njob "j" {\n name = local.a0\n}`, /over 32 locals lead to one another/],
]

for (const [what, text, message, variables = ''] of refused) {
  t.test(`refuses ${what}`, async (t) => {
    t.throws(() => parseJobFile(text, variables), { code: 'invalid_argument', message })
  })
}

t.test('a value of no variable is refused', async (t) => {
  t.throws(() => parseJobFile('job "j" {}', 'x = 1'), { message: /the job file has no variable x/ })
})

t.test('references to references cannot grow without bound', async (t) => {
  const lists = Array.from({ length: 30 }, (_, n) => `a${n} = [local.a${n + 1}, local.a${n + 1}]`)
  const text = `locals {\n${lists.join('\n')}\na30 = 1\n}\n${inTask('config {\n x = local.a0\n}')}`
  t.throws(() => parseJobFile(text, ''), { message: /comes to over 100000 values/ })
  const many = Array.from({ length: 100 }, (_, n) => `V${n} = local.a`).join('\n')
  const letters = `locals {\na = "${'x'.repeat(100_000)}"\n}\n${inTask(`env {\n${many}\n}`)}`
  t.throws(() => parseJobFile(letters, ''), { message: /4194304 letters/ })
})

t.test('a short file cannot ask for much', async (t) => {
  const steps = { message: /^job:\d+:\d+: to evaluate this file takes over 250000 steps/ }
  const blocks = 'dynamic "constraint" {\nfor_each = range(1000)\ncontent {}\n}'
  const nested = 'dynamic "group" {\nfor_each = range(9000)\nlabels = ["x"]\ncontent {\n'
  t.throws(() => parseJobFile(`job "j" {\n${nested}${blocks}\n}\n}\n}`, ''), steps)
  const lists = Array.from({ length: 30 }, (_, n) => `a${n} = [local.a${n + 1}, local.a${n + 1}]`)
  const type = `${'list('.repeat(29)}any${')'.repeat(29)}`
  const locals = `locals {\n${lists.join('\n')}\na30 = 1\nv = convert(local.a0, ${type})\n}`
  t.throws(() => parseJobFile(`${locals}\njob "j" {\nname = local.v\n}`, ''), steps)
})

t.test('locals and expressions that lead to one another do not fill the call stack', async (t) => {
  const message = /^job:\d+:\d+: over 500 expressions are evaluated for one another/
  const sum = ' + 1'.repeat(95)
  const forms = [
    (next: string) => next + sum,
    (next: string) => 'max('.repeat(28) + next + ')'.repeat(28) + sum,
    (next: string) => 'try('.repeat(28) + next + ', 1)'.repeat(28),
    (next: string) => `${'[for x in [1] : '.repeat(20)}${next}${']'.repeat(20)}`,
    (next: string) => '"x%{ for x in [1] }${'.repeat(20) + next + '}%{ endfor }"'.repeat(20),
  ]
  for (const form of forms) {
    const locals = Array.from({ length: 31 }, (_, n) => `a${n} = ${form(`local.a${n + 1}`)}`)
    const file = `locals {\n${locals.join('\n')}\na31 = 1\n}\njob "j" {\nname = local.a0\n}`
    t.throws(() => parseJobFile(file, ''), { code: 'invalid_argument', message })
  }
})

t.test('a file of a megabyte is read or refused', async (t) => {
  const megabyte = 1024 * 1024
  const fill = (unit: string, before = '', after = '') =>
    before +
    unit.repeat(Math.floor((megabyte - before.length - after.length) / unit.length)) +
    after
  const files = [
    fill('{'),
    fill('a {\n'),
    fill('${', 'a = "'),
    fill('(', 'a = '),
    fill('[1,', 'a = '),
    fill('-', 'a = '),
    fill('group "g" {}\n', 'job "j" {\n', '}'),
    fill('x\n', 'job "j" {\n name = <<E\n', 'E\n}'),
    fill('$', 'job "j" {\n name = "', '"\n}'),
    fill('a.', 'job "j" {\n name = "${', 'a}"\n}'),
    fill('/* */'),
    fill('"%{ for a in [1] }${upper("x")}%{ endfor }",', 'job "j" {\n datacenters = [', ']\n}'),
  ]
  for (const file of files) {
    try {
      readJob(parseJobFile(file, ''))
    } catch (error) {
      t.ok(error instanceof MusterError, `${file.slice(0, 20)}: ${String(error).slice(0, 200)}`)
    }
  }
})

t.test(`a file that is damaged is read or refused (seed ${seed})`, async (t) => {
  const damage = fc.tuple(
    fc.nat(everything.length),
    fc.nat(20),
    fc.string({ unit: 'binary', maxLength: 5 }),
  )
  fc.assert(
    fc.property(
      damage,
      fc.constantFrom('}', '{', '"', '${', '%{', '<<E\n', '=', '', '\n', '...', '[*]', ')'),
      fc.constantFrom(everything, shop),
      ([at, gone, text], piece, whole) => {
        const file = whole.slice(0, at) + text + piece + whole.slice(at + gone)
        try {
          problemsOf(parseJobFile(file, whole === shop ? 'image = "shop/web:1"' : ''))
        } catch (error) {
          if (!(error instanceof MusterError) || error.code === 'internal') throw error
        }
      },
    ),
    { numRuns: amount('FUZZ_JOBS', { gate: 500, long: 10_000 }), seed },
  )
  t.pass('nothing but a refusal was thrown')
})
