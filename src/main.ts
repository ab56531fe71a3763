/**
 * The program's entry: hands clock, randomness, output and the process itself to the command line.
 * Nothing imports it. Modules of the server are loaded only by the verb that runs one.
 */
import './process/thread-pool.ts'
import { isSea } from 'node:sea'
import manifest from '../package.json' with { type: 'json' }
import { runCommand } from './cli/cli.ts'
import { exits, type Terminal } from './cli/verb.ts'
import type { AgentArguments } from './cli/verbs/agent.ts'
import { makeVerbs } from './cli/verbs.ts'
import { systemClock } from './lib/clock.ts'
import { textOf } from './lib/errors.ts'
import { systemRandom } from './lib/random.ts'
import { prepareStackTraces } from './lib/stack-trace.ts'
import { markLines, writesToJournal } from './process/journal.ts'
import { nameProcess } from './process/process-name.ts'
import { StandardOutput } from './process/standard-output.ts'

const stdout = new StandardOutput(() => process.stdout)
// Whoever read it may go away.
const stderr = once(() => process.stderr.on('error', () => {}))

/** Only an agent is a service; what a command prints is read as it is. */
const isAgent = process.argv[2] === 'agent'
const toJournal = {
  out: isAgent && writesToJournal(process.env, 1),
  err: isAgent && writesToJournal(process.env, 2),
}

const terminal: Terminal = {
  out: (text) => stdout.write(text),
  err: (text) =>
    void stderr().write(toJournal.err && typeof text === 'string' ? markLines(text) : text),
  flushed: () => stdout.flushed(),
  outIsGone: () => stdout.error !== null,
  // Asked for when they matter: Node.js makes each of the streams at its first use, in some milliseconds.
  get outIsTerminal() {
    return process.stdout.isTTY
  },
  get errIsTerminal() {
    return process.stderr.isTTY
  },
  get inIsTerminal() {
    return process.stdin.isTTY
  },
  input: () => process.stdin,
  async secret() {
    const { readSecret } = await import('./cli/secret-input.ts')
    return readSecret(process.stdin.setEncoding('utf8'))
  },
  rawInput() {
    process.stdin.setRawMode(true)
    return () => void process.stdin.setRawMode(false)
  },
  size() {
    const { isTTY, rows, columns } = process.stdout
    return isTTY ? { rows, columns } : null
  },
  env: (name) => process.env[name] || undefined,
  nowMs: () => systemClock.wallMs(),
  self: selfCommand(),
  onSignals(signals, listener) {
    for (const signal of signals) process.on(signal, listener)
    return () => {
      for (const signal of signals) process.off(signal, listener)
    }
  },
}

const { version } = manifest
const verbs = makeVerbs({
  version,
  runAgent: runAgentHere,
  openRecovery: async (args) => (await import('./process/recover.ts')).openRecovery(args),
})

// No await outside of functions: a bundle is CommonJS.
void runCommand(process.argv.slice(2), verbs, terminal).then((code) => {
  if (code !== null) void afterOutput(code).then((status) => process.exit(status))
})

/** Waits until all output is written. A command whose results were not taken has failed, whatever it says itself. */
async function afterOutput(code: number): Promise<number> {
  await stdout.flushed()
  const { error } = stdout
  // Who reads no further has all that was wanted.
  if (error === null || error.code === 'EPIPE') return code
  terminal.err(`muster: standard output: ${textOf(error)}\n`)
  return code === exits.ok ? exits.failed : code
}

async function runAgentHere(args: AgentArguments): Promise<void> {
  if (args.checkOnly === true) {
    const { checkFiles } = await import('./process/check-files.ts')
    await checkFiles(args.configPaths, systemClock)
    return
  }
  await nameProcess('muster')
  const { runAgent } = await import('./process/agent.ts')
  const { systemdSocket } = await import('./process/service-manager.ts')
  await runAgent(args, {
    clock: systemClock,
    random: systemRandom,
    sink: { write: (text) => terminal.out(text) },
    toJournal: toJournal.out,
    soon: (run) => void setImmediate(run),
    events: process,
    exit: (status) => process.exit(status),
    version,
    notify: systemdSocket(process.env),
    // Only what this process is to be.
    startServer: async (...given) => (await import('./server/server.ts')).startServer(...given),
    startClient: async (...given) =>
      (await import('./client-agent/client.ts')).startClient(...given),
  })
  prepareStackTraces()
}

/** A release is one executable that holds the program; else Node.js runs the file that it was given. */
function selfCommand(): readonly [string, ...string[]] {
  const [node = process.execPath, script = ''] = process.argv
  return isSea() ? [process.execPath] : [node, script]
}

function once<T extends object>(make: () => T): () => T {
  let made: T | null = null
  return () => (made ??= make())
}
