/**
 * The command line. It talks to a cluster over HTTP only; the one verb that runs a process is handed the way to do so. Only
 * `main` imports it.
 *
 * This file finds the command that is meant, and holds what all of them share: help, exit codes, how a failure is told.
 */
import { MusterError, textOf } from '../lib/errors.ts'
import { stackTraceOf } from '../lib/stack-trace.ts'
import { findAmongOptions, findVerb, type Found } from './find-verb.ts'
import { isMisuse, ownWords, parseCommandLine } from './flags.ts'
import { groupHelp, nextWords, verbHelp } from './help.ts'
import { nearest } from './nearest.ts'
import { checkTemplate } from './print/format.ts'
import { exits, type Terminal, type Verbs } from './verb.ts'

const helpWords: readonly string[] = ['-h', '-help', '--help']
const versionWords: readonly string[] = ['-v', '-version', '--version']

/** What the shells' completion scripts call. */
export const completionWord = '__complete'

/** What `lock` starts beside the command it runs. */
export const watchdogWord = '__watchdog'

/** Runs one command line (without the program's own name). Resolves to the exit code, or to null while it goes on. */
export async function runCommand(
  args: readonly string[],
  verbs: Verbs,
  terminal: Terminal,
): Promise<number | null> {
  const [first = 'help'] = args
  if (first === completionWord) {
    const { completions } = await import('./completion.ts')
    terminal.out((await completions(args.slice(1), verbs)).map((word) => `${word}\n`).join(''))
    return exits.ok
  }
  if (first === watchdogWord) {
    const { runWatchdog } = await import('./lock/watchdog.ts')
    await runWatchdog(terminal)
    return exits.ok
  }
  const autocomplete = /^--?autocomplete-(un)?install$/.exec(first)
  if (autocomplete !== null) {
    return reporting('-autocomplete', terminal, async () => {
      const { setAutocomplete } = await import('./autocomplete.ts')
      await setAutocomplete(terminal, autocomplete[1] === undefined)
      return exits.ok
    })
  }
  if (versionWords.includes(first)) return runCommand(['version'], verbs, terminal)
  if (first === 'help') return help(args.slice(1), verbs, terminal)
  const found = findVerb(args, verbs)
  if (found.type === 'verb') return runVerb(found, verbs, terminal)
  const placed = await findAmongOptions(args, verbs, helpWords)
  if (placed?.type === 'verb') return runVerb(placed, verbs, terminal)
  const end = args.indexOf('--')
  if (asksForHelp(end < 0 ? args : args.slice(0, end))) return help(args, verbs, terminal)
  if (found.type === 'unknown' && found.word === 'help') return help(found.within, verbs, terminal)
  if (placed !== null) return reporting(placed.name, terminal, () => Promise.reject(placed.error))
  if (found.type === 'group' && args.length > found.words.length) {
    const known = [...nextWords(verbs, found.words).keys()].join(', ')
    const text = `no command stands beside ${args[found.words.length]}; there are ${known}`
    return misuse(terminal, text, ['help', ...found.words].join(' '))
  }
  return complain(found, verbs, terminal)
}

function asksForHelp(words: readonly string[]): boolean {
  return words.some((word) => helpWords.includes(word))
}

async function runVerb(
  { name, rest }: Extract<Found, { type: 'verb' }>,
  verbs: Verbs,
  terminal: Terminal,
): Promise<number | null> {
  const entry = verbs[name]
  if (entry === undefined) throw new MusterError('internal', `no command ${name}`)
  return reporting(name, terminal, async () => {
    const verb = await entry.load()
    if (asksForHelp(ownWords(rest, verb.flags, verb.operands))) {
      return help(name.split(' '), verbs, terminal)
    }
    const { flags, operands } = parseCommandLine(rest, verb.flags, verb.operands)
    await checkTemplate(flags, verb.flags ?? {})
    return verb.run({ flags, operands, terminal })
  })
}

/** Turns a failure into its text and exit code. */
async function reporting(
  name: string,
  terminal: Terminal,
  run: () => Promise<number | null>,
): Promise<number | null> {
  try {
    return await run()
  } catch (error) {
    if (isMisuse(error)) return misuse(terminal, error.message, `help ${name}`)
    for (const line of textOf(error).split('\n')) terminal.err(`muster ${name}: ${line}\n`)
    // What is not ours is a defect, and its place is all that there is to go by.
    const trace = error instanceof MusterError ? null : stackTraceOf(error)
    if (trace !== null) terminal.err(`${trace}\n`)
    return exits.failed
  }
}

function complain(
  found: Exclude<Found, { type: 'verb' }>,
  verbs: Verbs,
  terminal: Terminal,
): number {
  if (found.type === 'group') {
    terminal.err(groupHelp(verbs, found.words))
    return exits.usage
  }
  const known = [...nextWords(verbs, found.within).keys()]
  const meant = nearest(found.word, known)
  const hint = meant === null ? `there are ${known.join(', ')}` : `did you mean ${meant}?`
  const typed = [...found.within, found.word].join(' ')
  const where = ['help', ...found.within].join(' ')
  return misuse(terminal, `there is no command ${JSON.stringify(typed)}; ${hint}`, where)
}

function misuse(terminal: Terminal, text: string, where: string): number {
  terminal.err(`muster: ${text}\nTry: muster ${where}\n`)
  return exits.usage
}

async function help(args: readonly string[], verbs: Verbs, terminal: Terminal): Promise<number> {
  const words = args.filter((word) => !helpWords.includes(word))
  const found = findVerb(words, verbs)
  if (found.type === 'unknown') return complain(found, verbs, terminal)
  const entry = found.type === 'verb' ? verbs[found.name] : undefined
  terminal.out(
    found.type === 'verb' && entry !== undefined
      ? verbHelp(found.name, entry, await entry.load())
      : groupHelp(verbs, found.type === 'group' ? found.words : []),
  )
  return exits.ok
}
