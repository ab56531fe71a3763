/** Which command the first words of a command line name. */
import type { MusterError } from '../lib/errors.ts'
import { isMisuse, noOperands, parseCommandLine } from './flags.ts'
import { nextWords } from './help.ts'
import type { Verbs } from './verb.ts'

export type Found =
  | { readonly type: 'verb'; readonly name: string; readonly rest: readonly string[] }
  /** The words begin commands, and are none. */
  | { readonly type: 'group'; readonly words: readonly string[] }
  | { readonly type: 'unknown'; readonly within: readonly string[]; readonly word: string }

/** The command with the most words that the arguments begin with. */
export function findVerb(args: readonly string[], verbs: Verbs): Found {
  const options = args.findIndex((word) => word.startsWith('-'))
  const words = options < 0 ? args : args.slice(0, options)
  for (let count = words.length; count > 0; count -= 1) {
    const name = words.slice(0, count).join(' ')
    if (Object.hasOwn(verbs, name)) return { type: 'verb', name, rest: args.slice(count) }
  }
  const within: string[] = []
  for (const word of words) {
    if (nextWords(verbs, [...within, word]).size === 0) return { type: 'unknown', within, word }
    within.push(word)
  }
  return { type: 'group', words: within }
}

/** Options before the last word of a command, and their values, at most. */
const optionsMax = 16

/** No command that may be meant knows these options: what the first of them says. */
type Misused = { readonly type: 'misused'; readonly name: string; readonly error: MusterError }

type Candidate = {
  readonly name: string
  readonly options: readonly string[]
  readonly after: number
}

/**
 * As `findVerb`, where options stand before the words or between them. Which of them have values the command itself knows, so each that
 * may be meant is asked. Null: there is no command. `aside`: options of all commands.
 */
export async function findAmongOptions(
  args: readonly string[],
  verbs: Verbs,
  aside: readonly string[],
): Promise<Extract<Found, { type: 'verb' }> | Misused | null> {
  let first: Misused | null = null
  for (const { name, options, after } of candidates(args, verbs, {
    at: 0,
    words: [],
    options: [],
  })) {
    const verb = await verbs[name]?.load()
    if (verb === undefined) continue
    try {
      const known = options.filter((word) => !aside.includes(word))
      parseCommandLine(known, verb.flags, noOperands)
      return { type: 'verb', name, rest: [...options, ...args.slice(after)] }
    } catch (error) {
      if (!isMisuse(error)) throw error
      first ??= { type: 'misused', name, error }
    }
  }
  return first
}

/** Each option once as a switch, and once with the next word as its value. */
function* candidates(
  args: readonly string[],
  verbs: Verbs,
  { at, words, options }: { at: number; words: readonly string[]; options: readonly string[] },
): Generator<Candidate> {
  const word = args[at]
  if (word === undefined || word === '-' || word === '--' || options.length > optionsMax) return
  if (word.startsWith('-')) {
    const value = args[at + 1]
    yield* candidates(args, verbs, { at: at + 1, words, options: [...options, word] })
    if (word.includes('=') || value === undefined) return
    yield* candidates(args, verbs, { at: at + 2, words, options: [...options, word, value] })
    return
  }
  const all = [...words, word]
  if (nextWords(verbs, all).size > 0) {
    yield* candidates(args, verbs, { at: at + 1, words: all, options })
  }
  const name = all.join(' ')
  if (Object.hasOwn(verbs, name)) yield { name, options, after: at + 1 }
}
