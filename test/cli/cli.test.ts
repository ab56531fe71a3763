/** The command line: verbs, options, help, exit codes, and what a person reads after a mistake. */
import { execFile } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseCommandLine } from '../../src/cli/flags.ts'
import { noOperands, oneOperand } from '../../src/cli/verb.ts'
import type { AgentArguments } from '../../src/cli/verbs/agent.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { run } from './terminal.ts'

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

const commands =
  'acl, agent, agent-info, alloc, auth, catalog, completion, delete, deployment, eval, event, gossip, job, kv, list, lock, login, logout, monitor, namespace, node, operator, read, scaling, server, services, session, status, system, tls, token, var, version, watch, write'
const agentHelp = 'Try: muster help agent'

const mistakes: readonly (readonly [string, string])[] = [
  ['frobnicate', `there is no command "frobnicate"; there are ${commands}\nTry: muster help`],
  ['toString', `there is no command "toString"; there are ${commands}\nTry: muster help`],
  ['verison', 'there is no command "verison"; did you mean version?\nTry: muster help'],
  ['names list', 'there is no command "names"; did you mean namespace?\nTry: muster help'],
  ['var gte x', 'there is no command "var gte"; did you mean get?\nTry: muster help var'],
  [
    'operator raft lst-peers',
    'there is no command "operator raft lst-peers"; did you mean list-peers?\nTry: muster help operator raft',
  ],
  ['agent', `an agent needs -config FILE|DIR, or -dev\n${agentHelp}`],
  ['agent -config', `-config needs a value: -config FILE|DIR\n${agentHelp}`],
  ['agent -config=', `-config needs a value: -config FILE|DIR\n${agentHelp}`],
  ['agent -confg x', `there is no option -confg; did you mean -config?\n${agentHelp}`],
  ['agent -xyzzy', `there is no option -xyzzy; there are -config, -check, -dev\n${agentHelp}`],
  [
    'agent -check -dev',
    `-check reads files, and -dev needs none; leave one of them out\n${agentHelp}`,
  ],
  ['agent -dev=yes', `-dev is a switch and takes no value\n${agentHelp}`],
  ['agent -dev=false', `an agent needs -config FILE|DIR, or -dev\n${agentHelp}`],
  ['agent a.hcl', `"a.hcl" is no option, and none was expected here\n${agentHelp}`],
  ['version -x', 'there is no option -x\nTry: muster help version'],
  ['var get', 'PATH is missing\nTry: muster help var get'],
  ['var get a b', '"b" is too much: there is nothing after PATH\nTry: muster help var get'],
  [
    'var get -1 a',
    '"-1" is no option; after -- it would be taken as it is\nTry: muster help var get',
  ],
  ['var get a -json -t x', 'choose one of json and go-template\nTry: muster help var get'],
  [
    'var get a -out xml',
    '-out is table, json, none or go-template, not "xml"\nTry: muster help var get',
  ],
  [
    'var list -per-page -1',
    '-per-page must be a whole number from 0, not "-1"\nTry: muster help var list',
  ],
  [
    'status -address ftp://x',
    'the address "ftp://x" is no HTTP address; it looks like http://127.0.0.1:4646\nTry: muster help status',
  ],
  ['-jsno status', 'there is no option -jsno; did you mean -json?\nTry: muster help status'],
  [
    'kv -address 127.0.0.1:1',
    'no command stands beside -address; there are delete, get, list, put\nTry: muster help kv',
  ],
  [
    'operator raft remove-peer',
    'name the server to remove: -peer-id or -peer-address\nTry: muster help operator raft remove-peer',
  ],
]

for (const [line, expected] of mistakes) {
  t.test(`muster ${line} is a mistake, exit code 2`, async (t) => {
    const { code, err, out, started } = await run(line.split(' '))
    t.equal(code, 2)
    t.equal(err, `muster: ${expected}\n`)
    t.equal(out, '')
    t.same(started, [])
  })
}

t.test('options stand before and between the words of a command too', async (t) => {
  for (const line of [
    '-config a.hcl agent',
    '-config=a.hcl agent',
    '--dev=false -config b agent -config a.hcl',
  ]) {
    const { started, err } = await run(line.split(' '))
    t.match(started, [{ dev: false }], line)
    t.equal(started[0]?.configPaths.at(-1), 'a.hcl')
    t.equal(err, '')
  }
  // Nothing listens there: the command was understood.
  for (const line of [
    '-address 127.0.0.1:1 status',
    '-json -address 127.0.0.1:1 node status',
    'kv -address=127.0.0.1:1 -namespace status list a',
    'operator -address 127.0.0.1:1 raft -stale list-peers',
  ]) {
    const { code, err } = await run(line.split(' '))
    t.equal(code, 1, line)
    t.match(err, /127\.0\.0\.1:1/)
  }
  t.match(await run(['-address', 'x', 'status', '-h']), { code: 0, out: /Usage: muster status/ })
  t.match(await run(['-h', '-json', 'status']), { code: 0, out: /Usage: muster status/ })
})

t.test('help is asked for in many ways', async (t) => {
  for (const line of ['', 'help', '-h', '--help']) {
    const { code, out } = await run(line === '' ? [] : [line])
    t.equal(code, 0)
    t.match(
      out,
      /Usage: muster <command>[^]*agent {7}Runs a server\n[^]* version {5}Prints the version/,
    )
  }
  for (const line of ['help agent', 'agent -h', 'agent -dev --help']) {
    const { code, out, started } = await run(line.split(' '))
    t.equal(code, 0)
    t.match(out, /Usage: muster agent[^]*-config FILE\|DIR {2}A file/)
    t.same(started, [])
  }
  for (const line of ['help operator raft', 'operator raft -h', 'operator raft help']) {
    const { code, out } = await run(line.split(' '))
    t.equal(code, 0)
    t.match(out, /Usage: muster operator raft <command>[^]*list-peers {11}Lists the servers/)
  }
  const unknown = await run(['help', 'frobnicate'])
  t.equal(unknown.code, 2)
  t.match(unknown.err, /there is no command "frobnicate"/)
})

t.test('words that only begin commands are answered with what may follow', async (t) => {
  const { code, out, err } = await run(['operator', 'snapshot'])
  t.equal(code, 2)
  t.equal(out, '')
  t.match(err, /Usage: muster operator snapshot <command>[^]*inspect[^]*restore[^]*save/)
})

t.test('every command of the table has its own help', async (t) => {
  const { makeVerbs } = await import('../../src/cli/verbs.ts')
  const verbs = makeVerbs({
    version: '1.2.3',
    runAgent: async () => {},
    openRecovery: () => Promise.reject(new Error('only its help is wanted')),
  })
  for (const [name, entry] of Object.entries(verbs)) {
    const { code, out } = await run(['help', ...name.split(' ')])
    t.equal(code, 0)
    t.ok(out.startsWith(`${entry.summary}\n\nUsage: muster ${name}`), name)
    t.notOk(/.{101}/.test(out), `${name} fits on a screen of 100 columns`)
  }
})

t.test('the version is told', async (t) => {
  for (const line of ['version', '-v', '--version']) {
    t.match(await run([line]), { code: 0, out: 'muster 1.2.3\n' })
  }
})

t.test('a failure has exit code 1 and each of its lines the command in front', async (t) => {
  const agent = async () => {
    throw new MusterError('invalid_argument', 'a.hcl:1: x: unknown key\na.hcl:2: y: unknown key')
  }
  const { code, err } = await run(['agent', '-dev'], { agent })
  t.equal(code, 1)
  t.equal(err, 'muster agent: a.hcl:1: x: unknown key\nmuster agent: a.hcl:2: y: unknown key\n')
})

t.test('agent -check reads the configuration and ends', async (t) => {
  const { code, out, started } = await run(['agent', '-check', '-config', 'a.hcl'])
  t.same(started, [{ configPaths: ['a.hcl'], dev: false, checkOnly: true }])
  t.equal(code, 0)
  t.equal(out, 'The configuration is as it should be\n')
})

t.test('a defect shows its place', async (t) => {
  const agent = async () => {
    throw new TypeError('x is not a function')
  }
  const { code, err } = await run(['agent', '-dev'], { agent })
  t.equal(code, 1)
  t.match(err, /^muster agent: x is not a function\nTypeError: x is not a function\n +at /)
})

t.test('an option that was not given has no values', async (t) => {
  const { flags } = parseCommandLine([], {}, noOperands)
  t.same(flags.all('config'), [])
  t.notOk(flags.has('config'))
})

t.test('the options of a command that is to be run are its own', async (t) => {
  const table = {
    n: { summary: '', value: 'COUNT' },
    quiet: { summary: '', value: null },
  } as const
  const operands = { usage: 'PREFIX COMMAND...', countMin: 2, countMax: Infinity, commandAt: 1 }
  const parse = (line: string) => parseCommandLine(line.split(' '), table, operands)
  for (const line of [
    'p -n 2 -quiet ls -n 3 -h -- x',
    '-n 2 p -quiet -- ls -n 3 -h -- x',
    '-quiet -n 2 -- p ls -n 3 -h -- x',
  ]) {
    const { flags, operands: words } = parse(line)
    t.same(words, ['p', 'ls', '-n', '3', '-h', '--', 'x'], line)
    t.same(flags.all('n'), ['2'])
    t.ok(flags.has('quiet'))
  }
  t.throws(() => parse('-n 2 p'), { message: 'PREFIX COMMAND... is missing' })
})

t.test('options stand anywhere, the last of two wins, and -- ends them', async (t) => {
  const table = {
    name: { summary: '', value: 'NAME' },
    text: { summary: '', value: 'TEXT', empty: true },
    quiet: { summary: '', value: null },
  } as const
  const parse = (...args: string[]) => parseCommandLine(args, table, oneOperand('WORD'))
  const line = parse('--name', 'a', 'word', '-quiet', '-name=b')
  t.equal(line.flags.last('name'), 'b')
  t.same(line.flags.all('name'), ['a', 'b'])
  t.ok(line.flags.has('quiet'))
  t.same(line.operands, ['word'])
  t.same(parse('--', '-quiet').operands, ['-quiet'])
  t.same(parse('-').operands, ['-'])
  t.notOk(parse('-quiet=false', 'x').flags.has('quiet'))
  t.equal(parse('-text=', 'x').flags.last('text'), '')
  t.throws(() => parse('-name=', 'x'), { message: '-name needs a value: -name NAME' })
})

t.test('every word that commands begin with says what it is about', async (t) => {
  const silent: string[] = []
  const visit = async (prefix: readonly string[]): Promise<void> => {
    const { out } = await run(['help', ...prefix])
    const [, list] = out.split('\nCommands:\n')
    for (const line of list?.split('\n') ?? []) {
      const [, word, about] = /^ {2}(\S+) *(.*)$/.exec(line) ?? []
      if (word === undefined || word === 'help') continue
      if (about === '') silent.push([...prefix, word].join(' '))
      await visit([...prefix, word])
    }
  }
  await visit([])
  t.same(silent, [])
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
