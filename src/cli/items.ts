/** Words of a command line that say what is written: `KEY=VALUE`, and where a specification comes from. */
import { misused, type Flags } from './flags.ts'
import type { Sources } from './source.ts'

/** Of one command line. */
export const itemsMax = 10_000

/** A file (`@FILE`), or standard input (`-`). */
export function isSpec(word: string): boolean {
  return word === '-' || word.startsWith('@')
}

/** No path holds `=`. */
export function isItem(word: string): boolean {
  return word.includes('=')
}

/** `KEY=VALUE`: @FILE is what the file holds, - what comes from standard input, \@text is @text. */
export async function itemOf(word: string, sources: Sources): Promise<readonly [string, string]> {
  const at = word.indexOf('=')
  if (at < 1) misused(`${JSON.stringify(word)} is no item: KEY=VALUE, KEY=@FILE or KEY=-`)
  const key = word.slice(0, at)
  const value = word.slice(at + 1)
  if (value === '-') return [key, await sources.text('-', `the item ${key}`)]
  if (value.startsWith('@')) return [key, await sources.text(value.slice(1), `the item ${key}`)]
  return [key, value.startsWith('\\@') ? value.slice(1) : value]
}

/** The values of a repeatable option that are written as KEY=VALUE. */
export function pairsOfFlag(flags: Flags, name: string): readonly (readonly [string, string])[] {
  return flags.all(name).map((text) => {
    const at = text.indexOf('=')
    if (at < 1) misused(`-${name} is KEY=VALUE, not ${JSON.stringify(text)}`)
    return [text.slice(0, at), text.slice(at + 1)]
  })
}
