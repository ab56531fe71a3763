/** `muster job` against a real server of one. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { serverForCli } from './server-for-cli.ts'

t.test('the examples are in order, and no file is replaced', async (t) => {
  const { muster } = await serverForCli(t, { begin: false })
  const folder = t.testdir({})
  for (const flags of [[], ['-short']]) {
    const file = join(folder, `a${flags.length}.nomad.hcl`)
    t.match(await muster(['job', 'init', ...flags, file]), { code: 0, out: /^Wrote an example/ })
    t.match(await muster(['job', 'validate', file]), {
      code: 0,
      out: 'Job validation successful\n',
      err: '',
    })
    const before = await readFile(file, 'utf8')
    t.match(await muster(['job', 'init', file]), { code: 1, err: /the file exists already/ })
    t.equal(await readFile(file, 'utf8'), before)
  }
})

t.test('what is wrong with a file is told, with its line or its path', async (t) => {
  const { muster } = await serverForCli(t, { begin: false })
  const folder = t.testdir({})
  const check = async (text: string, ...flags: readonly string[]) => {
    const file = join(folder, 'x.hcl')
    await writeFile(file, text)
    return muster(['job', 'validate', ...flags, file])
  }
  t.match(await check('job "x" {\n  foo = 1\n}'), { code: 1, err: /x\.hcl:2:3: job has no foo/ })
  t.match(await check('job "x" {}'), {
    code: 1,
    out: /Job validation errors\n\* Datacenters is empty.*\n\* TaskGroups is empty/,
  })
  t.match(await check('{"Job":{"ID":"x"}}'), { code: 1, out: /Datacenters is empty/ })
  t.match(await check('{"ID":"x","Priority":"a"}'), { code: 1, err: /Priority must be a whole/ })
  const json = await check('job "x" {}', '-json')
  t.equal(json.code, 1)
  t.match(JSON.parse(json.out), { ValidationErrors: [/^Datacenters/, /^TaskGroups/] })
  t.match(await muster(['job', 'validate', join(folder, 'none')]), { code: 1, err: /ENOENT/ })
  t.match(await muster(['job', 'validate']), { code: 2 })
})

t.test('variables are given by files and options', async (t) => {
  const { muster } = await serverForCli(t, { begin: false })
  const folder = t.testdir({
    'job.hcl':
      'variable "id" {}\nvariable "dc" {\n  type = list(string)\n}\njob "x" {\n  id = var.id\n  datacenters = var.dc\n}\n',
    'vars.hcl': 'dc = []\n',
  })
  const file = join(folder, 'job.hcl')
  const named = await muster(['job', 'validate', '-var', 'id=a ${b}', '-var', 'dc=["dc1"]', file])
  t.match(named, { code: 1, out: /ID must have no blank/ })
  t.notMatch(named.out, /Datacenters/)
  const vars = join(folder, 'vars.hcl')
  t.match(await muster(['job', 'validate', '-var', 'id=a', '-var-file', vars, file]), {
    code: 1,
    out: /\* Datacenters is empty/,
  })
  const both = ['-var-file', vars, '-var', 'id=a', '-var', 'dc=["dc1"]']
  const overruled = await muster(['job', 'validate', ...both, file])
  t.notMatch(overruled.out, /Datacenters/, 'an option goes before a file')
  t.match(await muster(['job', 'validate', '-var', 'id', file]), { code: 2, err: /NAME=VALUE/ })
})

t.test('variables that no option gives are those of the environment', async (t) => {
  const { muster } = await serverForCli(t, { begin: false })
  const folder = t.testdir({
    'job.hcl':
      'variable "id" {\n  default = "default"\n}\nvariable "dc" {\n  type = list(string)\n}\njob "x" {\n  id = var.id\n  datacenters = var.dc\n}\n',
    'vars.hcl': 'id = "of file"\n',
  })
  const shown = async (env: Readonly<Record<string, string>>, ...more: readonly string[]) => {
    const { out, err } = await muster(['job', 'validate', ...more, join(folder, 'job.hcl')], {
      env,
    })
    return out + err
  }
  const dc = { MUSTER_VAR_dc: '["dc1"]', NOMAD_VAR_other: 'no variable of this file' }
  t.match(await shown({}), /the variable dc has no default/)
  const own = { ...dc, NOMAD_VAR_id: 'a b' }
  t.match(await shown(own), /ID must have no blank/)
  t.notMatch(await shown(own), /Datacenters|no variable/)
  t.notMatch(await shown({ ...own, MUSTER_VAR_id: 'a' }), /ID must/, 'our name goes first')
  const files = ['-var-file', join(folder, 'vars.hcl')]
  t.match(await shown({ ...dc, NOMAD_VAR_id: 'a' }, ...files), /ID must/, 'a file goes before it')
  t.notMatch(await shown(own, '-var', 'id=a'), /ID must/, 'and an option does')
})

t.test('what the examples ask for is registered, shown, evaluated and stopped', async (t) => {
  const { muster } = await serverForCli(t)
  const folder = t.testdir({})
  for (const flags of [[], ['-short']]) {
    const file = join(folder, `a${flags.length}.nomad.hcl`)
    await muster(['job', 'init', ...flags, file])
    const ran = await muster(['job', 'run', '-detach', file])
    t.match(ran, {
      code: 0,
      err: '',
      out: /^Registered job "example"\nEvaluation [0-9a-f-]{36}\n$/,
    })
  }
  t.match((await muster('job status')).out, /\nexample +service +50 +pending /)
  const shown = await muster('job status -evals exa')
  t.match(shown, {
    code: 0,
    out: /\nSummary\n.*\nclock .*\n\nEvaluations\n(.*\n){3}\nAllocations\n/,
  })
  t.match(
    (await muster('job history -p example')).out,
    /^Version .*\n1 .* clock \(1\)\n(.*\n)*\nVersion .*\n0 .* clock \(1\)\n$/,
  )
  t.match((await muster('job history example')).out, /\n1 .* clock \(1\)\n0 .* clock \(1\)\n$/)
  const printed = join(folder, 'printed.json')
  await writeFile(printed, (await muster('job inspect -version 0 example')).out)
  t.match(await muster(['job', 'run', '-detach', printed]), { code: 0 }, 'what is printed is taken')
  t.match(await muster('job eval -detach example'), { code: 0, out: /^Evaluation / })
  t.match(await muster('job run -check-index 0 -detach ' + printed), { code: 1, err: /\(409\)/ })
  t.match(await muster('eval list -job example'), { code: 0, out: /\n.* job-register +example / })
  t.match(await muster('job stop -detach example'), { code: 0, out: /^Stopped job "example"\n/ })
  t.match((await muster('job status example')).out, /\nStatus += .* \(stopped\)\n/)
  t.match(await muster('job stop -purge -detach example'), { code: 0, out: /^Purged job/ })
  t.match(await muster('job status example'), { code: 1, err: /no job has an id that begins/ })
})
