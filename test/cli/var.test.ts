/** `muster var` and `muster namespace` against a server. */
import { join } from 'node:path'
import t from 'tap'
import { serverForCli } from './server-for-cli.ts'

void t.test('a variable is written, read, listed and purged', async (t) => {
  const { muster } = await serverForCli(t)
  t.match(await muster('var put app/db user=app password=s3cret'), {
    code: 0,
    out: /^Wrote variable "app\/db" at index \d+\n$/,
    err: '',
  })
  const { code, out } = await muster('var get app/db')
  t.equal(code, 0)
  t.match(
    out,
    /^Namespace {3}= default\nPath {8}= app\/db\nCreate Time = \S+Z\nModify Time = \S+Z\nCheck Index = \d+\n\nItems\nuser {5}= app\npassword = s3cret\n$/,
  )
  t.match(await muster('var list'), {
    code: 0,
    out: /^Namespace {2}Path {4}Last Updated\ndefault {4}app\/db {2}\S+Z\n$/,
  })
  t.match(await muster('var purge app/db'), { code: 0, out: 'Purged variable "app/db"\n' })
  t.match(await muster('var get app/db'), {
    code: 1,
    out: '',
    err: 'muster var get: there is no variable "app/db"\n',
  })
  t.match(await muster('var list'), { code: 0, out: '', err: 'No variables found\n' })
})

void t.test('values come from files and from standard input, byte for byte', async (t) => {
  const { muster } = await serverForCli(t)
  const dir = t.testdir({ key: 'line 1\nline 2\n', latin: Buffer.from([0xff]) })
  const put = await muster(
    [
      'var',
      'put',
      'a',
      `file=@${join(dir, 'key')}`,
      'piped=-',
      'at=\\@home',
      'empty=',
      '__proto__=own',
    ],
    { input: 'from a pipe\n' },
  )
  t.equal(put.code, 0, put.err)
  const item = async (key: string, isTerminal = false) =>
    (await muster(['var', 'get', '-item', key, 'a'], { isTerminal })).out
  t.equal(await item('file'), 'line 1\nline 2\n')
  t.equal(await item('piped'), 'from a pipe\n')
  t.equal(await item('at'), '@home')
  t.equal(await item('at', true), '@home\n', 'a terminal gets its line break')
  t.equal(await item('empty'), '')
  t.equal(await item('__proto__'), 'own')
  t.match(await muster('var get -item none a'), { code: 1, err: /has no item "none"/ })
  t.match(await muster(['var', 'put', 'b', `x=@${join(dir, 'latin')}`]), {
    code: 1,
    err: /the item x is not UTF-8 text/,
  })
  t.match(await muster(['var', 'put', 'b', `x=@${join(dir, 'absent')}`]), {
    code: 1,
    err: /ENOENT/,
  })
  t.match(await muster('var put b x=- y=-'), { code: 2, err: /standard input is taken already/ })
})

void t.test('a specification is edited without overwriting anyone', async (t) => {
  const { muster } = await serverForCli(t)
  await muster('var put app user=one')
  const read = await muster('var get -json app')
  const edited = read.out.replace('"one"', '"two"')
  t.match(await muster('var put -', { input: edited }), { code: 0 }, 'the path is in it')
  t.match(await muster('var put -', { input: edited }), {
    code: 1,
    err: /nothing was changed: the variable is at index \d+ since \S+, and index \d+ was expected/,
  })
  t.match(await muster('var put -force - more=x', { input: edited }), { code: 0 })
  t.match(await muster('var get -out json app'), { code: 0, out: /"user": "two"/ })
  t.match(await muster('var get -item more app'), { out: 'x' })

  const hcl = 'path = "from/hcl"\nitems {\n  port = 5432\n  host = "db"\n}\n'
  t.match(await muster('var put -', { input: hcl }), { code: 0 })
  t.match(await muster('var get -item port from/hcl'), { out: '5432' })
  t.match(await muster('var put other/path -', { input: hcl }), { code: 0 })
  t.match(await muster('var get -item host other/path'), { out: 'db' })
  t.match(await muster('var put -', { input: 'path = nonsense' }), {
    code: 1,
    err: /standard input:1:8: nonsense is no value/,
  })
  t.match(await muster('var put x -', { input: '{"Items":{"a":{}}}' }), {
    code: 1,
    err: /hold texts/,
  })
})

void t.test('check-and-set holds for put and purge', async (t) => {
  const { muster } = await serverForCli(t)
  t.match(await muster('var put -check-index 0 a x=1'), { code: 0 })
  t.match(await muster('var put -check-index=0 a x=2'), {
    code: 1,
    err: /and index 0 was expected/,
  })
  t.match(await muster('var purge -check-index 1 a'), { code: 1, err: /nothing was changed/ })
  t.match(await muster('var purge -check-index 7 none'), {
    code: 1,
    err: /there is no variable "none", and index 7 was expected/,
  })
  const { out } = await muster(['var', 'get', '-t', '{{.ModifyIndex}}', 'a'])
  t.match(await muster(`var purge a -check-index ${out.trim()}`), { code: 0 })
  t.match(await muster('var put -check-index x a b=1'), { code: 2, err: /must be a whole number/ })
})

void t.test('lists go on page by page, and through filters and templates', async (t) => {
  const { muster } = await serverForCli(t)
  for (const path of ['a/1', 'a/2', 'a/3', 'b']) await muster(`var put ${path} x=y`)
  const page = await muster('var list -per-page 2 -q a/')
  t.equal(page.out, 'a/1\na/2\n')
  const token = /-page-token (\S+)/.exec(page.err)?.[1] ?? ''
  t.match(await muster(['var', 'list', '-q', '-page-token', token, 'a/']), {
    out: 'a/3\n',
    err: '',
  })
  t.match(await muster(['var', 'list', '-q', '-filter', 'Path matches "[13]$"']), {
    out: 'a/1\na/3\n',
  })
  t.match(await muster(['var', 'list', '-filter', 'Nope == 1']), { code: 1, err: /\(400\)\n$/ })
  t.match(await muster(['var', 'list', '-t', '{{range .}}{{.Path}};{{end}}']), {
    out: 'a/1;a/2;a/3;b;\n',
  })
  t.match(await muster(['var', 'list', '-t', '{{range .}}{{.Pth}}{{end}}']), {
    code: 1,
    out: '',
    err: /there is no field \.Pth; there are \.Namespace, \.Path/,
  })
  t.equal((await muster('var list -out none')).out, '')
})

void t.test('what is stored cannot steer the terminal', async (t) => {
  const { muster } = await serverForCli(t)
  await muster(['var', 'put', 'a', 'x=\u001b[31mred\nnext'])
  const shown = await muster('var get a', { isTerminal: true })
  t.match(shown.out, 'x = \\u001b[31mred\\nnext\n')
  t.match(shown.out, '\u001b[1mItems\u001b[22m', 'headings are bold on a terminal')
  const plain = await muster('var get a', { isTerminal: true, env: { NO_COLOR: '1' } })
  t.notMatch(plain.out, '\u001b')
})

void t.test('mistakes in items are told', async (t) => {
  const { muster } = await serverForCli(t)
  const mistakes: readonly (readonly [string, number, RegExp])[] = [
    ['var put', 2, /at least one is needed of \[PATH\] \[@FILE \| -\] \[KEY=VALUE\.\.\.\]/],
    ['var put a', 2, /a variable needs items/],
    ['var put a=b', 2, /"a=b" is an item; the path comes first/],
    ['var put a b', 2, /"b" is no item: KEY=VALUE/],
    ['var put a =b', 2, /"=b" is no item/],
    ['var put a! x=y', 1, /a variable path is 1 to 128 .* \(400\)/],
    ['var put -force -check-index 1 a x=y', 2, /exclude each other/],
  ]
  for (const [line, code, err] of mistakes) t.match(await muster(line), { code, err }, line)
})

void t.test('namespaces are applied, shown, listed and deleted', async (t) => {
  const { muster } = await serverForCli(t)
  t.match(await muster('namespace apply -description first -meta team=a prod'), {
    code: 0,
    out: 'Applied namespace "prod"\n',
  })
  t.match(await muster('namespace apply -meta cost=7 prod'), { code: 0 })
  t.match(await muster('namespace status prod'), {
    code: 0,
    out: /^Name {9}= prod\nDescription {2}= first\n[^]*\nMeta\ncost = 7\nteam = a\n$/,
  })
  t.match(await muster(['namespace', 'apply', '-description', '', 'prod']), { code: 0 })
  t.match(await muster(['namespace', 'status', '-t', '[{{.Description}}]', 'prod']), {
    out: '[]\n',
  })
  const hcl = 'name = "dev"\ndescription = "for trials"\nmeta {\n  team = "b"\n}\n'
  t.match(await muster('namespace apply -', { input: hcl }), { code: 0 })
  t.match(await muster('namespace list'), {
    out: 'Name     Description\ndefault  Default shared namespace\ndev      for trials\nprod\n',
  })
  await muster('var put -namespace prod a x=y')
  t.match(await muster(['var', 'list', '-namespace', '*', '-q']), { out: 'a\n' })
  t.match(await muster('namespace delete prod'), { code: 1, err: /still has variables/ })
  await muster('var purge -namespace prod a')
  t.match(await muster('namespace delete prod'), { code: 0, out: 'Deleted namespace "prod"\n' })
  t.match(await muster('namespace delete prod'), { code: 1, err: /there is no namespace "prod"/ })
  t.match(await muster('namespace apply ./absent.hcl'), { code: 1, err: /absent\.hcl: ENOENT/ })
})
