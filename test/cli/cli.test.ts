/** The command line: verbs, options, help, exit codes, and what a person reads after a mistake. */
import { execFile } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runCommand, type Verbs } from '../../src/cli/cli.ts'
import { parseFlags } from '../../src/cli/flags.ts'
import { agentVerb, type AgentArguments } from '../../src/cli/verbs/agent.ts'
import { versionVerb } from '../../src/cli/verbs/version.ts'
import { MusterError } from '../../src/lib/errors.ts'

/** Runs a command line; an agent that is started only notes what it was told. */
async function run(args: readonly string[], agent: () => Promise<void> = async () => {}) {
  const started: AgentArguments[] = []
  const verbs: Verbs = {
    agent: agentVerb(async (told) => {
      started.push(told)
      await agent()
    }),
    version: versionVerb('1.2.3'),
  }
  let out = ''
  let err = ''
  const code = await runCommand(args, verbs, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  })
  return { code, out, err, started }
}

const agentLines: readonly (readonly [string, AgentArguments])[] = [
  ['-config a.hcl', { configPaths: ['a.hcl'], dev: false }],
  ['--config a.hcl', { configPaths: ['a.hcl'], dev: false }],
  ['-config=a.hcl', { configPaths: ['a.hcl'], dev: false }],
  ['--config=a=b.hcl', { configPaths: ['a=b.hcl'], dev: false }],
  ['-config b -config=a --config c', { configPaths: ['b', 'a', 'c'], dev: false }],
  ['-dev', { configPaths: [], dev: true }],
  ['--dev -config a', { configPaths: ['a'], dev: true }],
  ['-config -dev', { configPaths: ['-dev'], dev: false }],
]

for (const [line, expected] of agentLines) {
  t.test(`muster agent ${line}`, async (t) => {
    const { code, started, err } = await run(['agent', ...line.split(' ')])
    t.same(started, [expected])
    t.equal(code, null, 'the process goes on')
    t.equal(err, '')
  })
}

const mistakes: readonly (readonly [string, string])[] = [
  [
    'frobnicate',
    'muster: there is no command "frobnicate"; there are agent, version\nTry: muster help\n',
  ],
  ['agent', 'muster: an agent needs -config FILE|DIR, or -dev\nTry: muster help agent\n'],
  ['agent -config', 'muster: -config needs a value: -config FILE|DIR\nTry: muster help agent\n'],
  ['agent -config=', 'muster: -config needs a value: -config FILE|DIR\nTry: muster help agent\n'],
  [
    'agent -confg x',
    'muster: there is no option -confg; there are -config, -dev\nTry: muster help agent\n',
  ],
  ['agent -dev=yes', 'muster: -dev is a switch and takes no value\nTry: muster help agent\n'],
  [
    'agent a.hcl',
    'muster: "a.hcl" is no option, and none was expected here\nTry: muster help agent\n',
  ],
  ['version -x', 'muster: there is no option -x\nTry: muster help version\n'],
  [
    'toString',
    'muster: there is no command "toString"; there are agent, version\nTry: muster help\n',
  ],
]

for (const [line, expected] of mistakes) {
  t.test(`muster ${line} is a mistake, exit code 2`, async (t) => {
    const { code, err, out, started } = await run(line.split(' '))
    t.equal(code, 2)
    t.equal(err, expected)
    t.equal(out, '')
    t.same(started, [])
  })
}

t.test('help is asked for in many ways', async (t) => {
  for (const line of ['', 'help', '-h', '--help']) {
    const { code, out } = await run(line === '' ? [] : [line])
    t.equal(code, 0)
    t.match(
      out,
      /Usage: muster <command>[^]*agent {4}Runs a server\n {2}version {2}Prints the version/,
    )
  }
  for (const line of ['help agent', 'agent -h', 'agent -dev --help']) {
    const { code, out, started } = await run(line.split(' '))
    t.equal(code, 0)
    t.match(out, /Usage: muster agent[^]*-config FILE\|DIR {2}A file/)
    t.same(started, [])
  }
  const unknown = await run(['help', 'frobnicate'])
  t.equal(unknown.code, 2)
  t.match(unknown.err, /there is no command "frobnicate"/)
})

t.test('the version is told', async (t) => {
  for (const line of ['version', '-v', '--version']) {
    t.match(await run([line]), { code: 0, out: 'muster 1.2.3\n' })
  }
})

t.test('a failure has exit code 1 and each of its lines the command in front', async (t) => {
  const { code, err } = await run(['agent', '-dev'], async () => {
    throw new MusterError('invalid_argument', 'a.hcl:1: x: unknown key\na.hcl:2: y: unknown key')
  })
  t.equal(code, 1)
  t.equal(err, 'muster agent: a.hcl:1: x: unknown key\nmuster agent: a.hcl:2: y: unknown key\n')
})

t.test('a defect shows its place', async (t) => {
  const { code, err } = await run(['agent', '-dev'], async () => {
    throw new TypeError('x is not a function')
  })
  t.equal(code, 1)
  t.match(err, /^muster agent: x is not a function\nTypeError: x is not a function\n +at /)
})

t.test('an option that was not given has no values', async (t) => {
  const flags = parseFlags([], {})
  t.same(flags.all('config'), [])
  t.notOk(flags.has('config'))
})

t.test('the program itself runs with the pinned Node.js, through a link too', async (t) => {
  const binary = fileURLToPath(new URL('../../bin/muster', import.meta.url))
  const link = join(t.testdir(), 'muster')
  await symlink(binary, link)
  const start = (program: string, args: readonly string[]) =>
    new Promise<{ code: number | string | null | undefined; out: string; err: string }>(
      (resolve) => {
        // Nothing but the shell's own folders in PATH: no node of the machine may be needed.
        execFile(program, args, { env: { PATH: '/usr/bin:/bin' } }, (error, out, err) => {
          resolve({ code: error === null ? 0 : error.code, out, err })
        })
      },
    )
  t.match(await start(link, ['version']), { code: 0, out: /^muster \d+\.\d+\.\d+\n$/ })
  t.match(await start(binary, ['nonsense']), { code: 2, err: /there is no command "nonsense"/ })
})
