/** A terminal that remembers what it was told, and gives what a test types. */
import { fileURLToPath } from 'node:url'
import { runCommand } from '../../src/cli/cli.ts'
import type { Terminal } from '../../src/cli/verb.ts'
import { makeVerbs } from '../../src/cli/verbs.ts'
import type { AgentArguments } from '../../src/cli/verbs/agent.ts'
import type { OpenRecovery } from '../../src/cli/verbs/raft/recover.ts'

const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export type Typed = {
  readonly input?: string | Uint8Array
  readonly env?: Readonly<Record<string, string>>
  readonly isTerminal?: boolean
  readonly nowMs?: number
  /** Nobody reads on once so much was written. */
  readonly outLengthMax?: number
  readonly agent?: () => Promise<void>
  readonly recovery?: OpenRecovery
  /** Gets the way to send the command a signal. */
  readonly signals?: (send: (signal: NodeJS.Signals) => void) => void
}

export type Ran = {
  readonly code: number | null
  readonly out: string
  readonly outBytes: Buffer
  readonly err: string
  readonly started: readonly AgentArguments[]
}

/** Runs a command line in this process; an agent that is started only notes what it was told. */
export async function run(args: readonly string[], typed: Typed = {}): Promise<Ran> {
  const started: AgentArguments[] = []
  const verbs = makeVerbs({
    version: '1.2.3',
    runAgent: async (told) => {
      started.push(told)
      await typed.agent?.()
    },
    openRecovery: typed.recovery ?? (() => Promise.reject(new Error('no recovery was expected'))),
  })
  let out = ''
  const pieces: Buffer[] = []
  let err = ''
  const isTerminal = typed.isTerminal ?? false
  const terminal: Terminal = {
    out: (text) => {
      pieces.push(Buffer.from(text))
      out += typeof text === 'string' ? text : Buffer.from(text).toString()
    },
    err: (text) => void (err += typeof text === 'string' ? text : Buffer.from(text).toString()),
    flushed: () => Promise.resolve(),
    outIsGone: () => out.length >= (typed.outLengthMax ?? Infinity),
    outIsTerminal: isTerminal,
    errIsTerminal: isTerminal,
    inIsTerminal: isTerminal,
    async *input() {
      yield Buffer.from(typed.input ?? '')
    },
    secret: async () => String(typed.input ?? ''),
    rawInput: () => () => {},
    size: () => (isTerminal ? { rows: 24, columns: 80 } : null),
    env: (name) => typed.env?.[name] || undefined,
    nowMs: () => typed.nowMs ?? Date.now(),
    self: [process.execPath, program],
    onSignals: (signals, listener) => {
      let heard = true
      typed.signals?.((signal) => {
        if (heard && signals.includes(signal)) listener(signal)
      })
      return () => {
        heard = false
      }
    },
  }
  const code = await runCommand(args, verbs, terminal)
  return { code, out, outBytes: Buffer.concat(pieces), err, started }
}
