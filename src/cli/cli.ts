/**
 * The command line. `cli` may import `lib` and models, and talks to a cluster over HTTP only; the one verb that runs
 * a process is handed the way to do so. Only `main` imports it.
 *
 * This file is the table of verbs, and what all of them share: help, exit codes, how a failure is told.
 */
import { MusterError, textOf } from '../lib/errors.ts'
import { misusedFlag, parseFlags, type FlagTable, type Flags } from './flags.ts'

export type Output = {
  out(text: string): void
  err(text: string): void
}

export type Verb = {
  readonly summary: string
  readonly usage: string
  readonly flags: FlagTable
  /** Resolves to the exit code, or to null while the process goes on. */
  run(flags: Flags, output: Output): Promise<number | null>
}

export type Verbs = Readonly<Record<string, Verb>>

/** ok; the work failed; the command was not understood. */
const exits = { ok: 0, failed: 1, usage: 2 } as const

const helpWords: readonly string[] = ['help', '-h', '-help', '--help']
const versionWords: readonly string[] = ['-v', '-version', '--version']

/** Runs one command line (without the program's own name). */
export async function runCommand(
  args: readonly string[],
  verbs: Verbs,
  output: Output,
): Promise<number | null> {
  const [word = 'help', ...rest] = args
  if (helpWords.includes(word)) return help(rest[0], verbs, output)
  const name = versionWords.includes(word) ? 'version' : word
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined
  if (verb === undefined) {
    const known = Object.keys(verbs).join(', ')
    return misuse(output, `there is no command ${JSON.stringify(word)}; there are ${known}`, 'help')
  }
  if (rest.some((argument) => helpWords.includes(argument) && argument !== 'help')) {
    return help(name, verbs, output)
  }
  try {
    return await verb.run(parseFlags(rest, verb.flags), output)
  } catch (error) {
    if (error instanceof MusterError && error.details === misusedFlag) {
      return misuse(output, error.message, `help ${name}`)
    }
    for (const line of textOf(error).split('\n')) output.err(`muster ${name}: ${line}\n`)
    // What is not ours is a defect, and its place is all that there is to go by.
    if (!(error instanceof MusterError) && error instanceof Error) output.err(`${error.stack}\n`)
    return exits.failed
  }
}

function misuse(output: Output, text: string, where: string): number {
  output.err(`muster: ${text}\nTry: muster ${where}\n`)
  return exits.usage
}

function help(name: string | undefined, verbs: Verbs, output: Output): number {
  if (name !== undefined && Object.hasOwn(verbs, name)) {
    const verb = verbs[name]
    if (verb !== undefined) output.out(verbHelp(verb))
    return exits.ok
  }
  const width = Math.max(...Object.keys(verbs).map((word) => word.length), 'help'.length)
  const lines = [
    ...Object.entries(verbs).map(([word, verb]) => `  ${word.padEnd(width)}  ${verb.summary}`),
    `  ${'help'.padEnd(width)}  Says more about a command: muster help agent`,
  ]
  output.out(`Usage: muster <command> [options]\n\nCommands:\n${lines.join('\n')}\n`)
  if (name === undefined) return exits.ok
  output.err(`muster: there is no command ${JSON.stringify(name)}\n`)
  return exits.usage
}

function verbHelp(verb: Verb): string {
  const flags = Object.entries(verb.flags).map(([name, flag]) => ({
    left: `-${name}${flag.value === null ? '' : ` ${flag.value}`}`,
    right: flag.summary,
  }))
  const width = Math.max(0, ...flags.map((flag) => flag.left.length))
  const lines = flags.map((flag) => `  ${flag.left.padEnd(width)}  ${flag.right}`)
  const options = lines.length === 0 ? '' : `\nOptions:\n${lines.join('\n')}\n`
  return `${verb.summary}\n\nUsage: muster ${verb.usage}\n${options}`
}
