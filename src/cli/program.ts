/** A command that a command line ends with: a line for the user's shell, or a program and its arguments. */
import type { Terminal } from './verb.ts'

const defaultShell = '/bin/sh'

export type Program = { readonly file: string; readonly args: readonly string[] }

/** `shell`: the words are a line for $SHELL, as in Consul's tools. */
export function programOf(
  { words, shell }: { readonly words: readonly string[]; readonly shell: boolean },
  terminal: Terminal,
): Program {
  const [first = '', ...rest] = words
  if (!shell) return { file: first, args: rest }
  return { file: terminal.env('SHELL') ?? defaultShell, args: ['-c', words.join(' ')] }
}
