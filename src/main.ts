/**
 * The program's entry: hands clock, chance, output and the process itself to the command line.
 * Nothing imports it. Modules of the server are loaded only by the verb that runs one.
 */
import './agent/thread-pool.ts'
import { readFile } from 'node:fs/promises'
import type { AgentArguments } from './agent/agent.ts'
import { runCommand } from './cli/cli.ts'
import type { Terminal } from './cli/verb.ts'
import { makeVerbs } from './cli/verbs.ts'
import { systemClock } from './lib/clock.ts'
import { systemRandom } from './lib/random.ts'

let outIsGone = false

const terminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  outIsGone: () => outIsGone,
  outIsTerminal: process.stdout.isTTY,
  errIsTerminal: process.stderr.isTTY,
  inIsTerminal: process.stdin.isTTY,
  input: () => process.stdin,
  env: (name) => process.env[name] || undefined,
  nowMs: () => Date.now(),
  onSignals(signals, listener) {
    for (const signal of signals) process.on(signal, listener)
    return () => {
      for (const signal of signals) process.off(signal, listener)
    }
  },
}

// A reader that went away (`muster help | head`) must not end a server.
process.stdout.on('error', () => {
  outIsGone = true
})
process.stderr.on('error', () => {})

const version = await readVersion()
const verbs = makeVerbs({
  version,
  runAgent: runAgentHere,
  openRecovery: async (args) => (await import('./agent/recover.ts')).openRecovery(args),
})

const code = await runCommand(process.argv.slice(2), verbs, terminal)
if (code !== null) process.exit(code)

async function runAgentHere(args: AgentArguments): Promise<void> {
  const { runAgent } = await import('./agent/agent.ts')
  await runAgent(args, {
    clock: systemClock,
    random: systemRandom,
    sink: { write: (text) => terminal.out(text) },
    soon: (run) => void setImmediate(run),
    events: process,
    exit: (status) => process.exit(status),
    version,
    // Only what this process is to be.
    startServer: async (...given) => (await import('./server/server.ts')).startServer(...given),
    startClient: async (...given) => (await import('./client/client.ts')).startClient(...given),
  })
}

async function readVersion(): Promise<string> {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8')
  const manifest: unknown = JSON.parse(text)
  return typeof manifest === 'object' &&
    manifest !== null &&
    'version' in manifest &&
    typeof manifest.version === 'string'
    ? manifest.version
    : 'unknown'
}
