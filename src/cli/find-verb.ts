/** Which command the first words of a command line name. */
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
