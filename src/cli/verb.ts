/** What a command is: how it is called, what it may be told, and the terminal it talks to. */
import type { FlagTable, Flags, Operands } from './flags.ts'

export { noOperands, oneOperand } from './flags.ts'

/** The process a command runs in, as far as commands may touch it. */
export type Terminal = {
  out(text: string | Uint8Array): void
  err(text: string | Uint8Array): void
  /** Resolves once the output has left this process. */
  flushed(): Promise<void>
  /** The reader of the output is gone, as in `muster monitor | head`. */
  outIsGone(): boolean
  readonly outIsTerminal: boolean
  readonly errIsTerminal: boolean
  readonly inIsTerminal: boolean
  input(): AsyncIterable<Uint8Array>
  /** A line that is typed without being shown. Only where `inIsTerminal`. */
  secret(): Promise<string>
  /** Keys come as they are typed, until the returned function is called. Only where `inIsTerminal`. */
  rawInput(): () => void
  /** Null: the output is no terminal. */
  size(): { readonly rows: number; readonly columns: number } | null
  /** Undefined when it is not set or empty. */
  env(name: string): string | undefined
  nowMs(): number
  /** What starts this program again, before its arguments. */
  readonly self: readonly [string, ...string[]]
  /** Hears signals, which then do not end the process, until the returned function is called. */
  onSignals(
    signals: readonly NodeJS.Signals[],
    listener: (signal: NodeJS.Signals) => void,
  ): () => void
}

export type Call = {
  readonly flags: Flags
  readonly operands: readonly string[]
  readonly terminal: Terminal
}

export type Verb = {
  readonly operands: Operands
  readonly flags: FlagTable
  /** Paragraphs for the help, below the summary. */
  readonly about?: string
  /** Resolves to the exit code, or to null while the process goes on. */
  run(call: Call): Promise<number | null>
}

/** One row of the table of commands. What a command needs is loaded when it is called, and not before. */
export type VerbEntry = {
  readonly summary: string
  load(): Promise<Verb>
}

/** By the words that call it: `operator raft list-peers`. */
export type Verbs = Readonly<Record<string, VerbEntry>>

/** ok; the work failed; the command was not understood. */
export const exits = { ok: 0, failed: 1, usage: 2 } as const
