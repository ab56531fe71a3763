/**
 * What may come next on a half-written command line, for the shells' completion. The scripts know nothing of the
 * commands: they ask the program, so that they never grow old.
 */
import { findAmongOptions, findVerb } from './find-verb.ts'
import { nextWords } from './help.ts'
import type { Verbs } from './verb.ts'

/** The last of the words is the one being written, empty after a blank. Nothing: a file's name, perhaps. */
export async function completions(
  words: readonly string[],
  verbs: Verbs,
): Promise<readonly string[]> {
  const partial = words.at(-1) ?? ''
  const helped = words[0] === 'help' && words.length > 1
  const before = words.slice(helped ? 1 : 0, -1)
  const first = findVerb(before, verbs)
  const placed = first.type === 'verb' ? null : await findAmongOptions(before, verbs, [])
  const found = placed?.type === 'verb' ? placed : first
  if (found.type === 'group') {
    const top = !helped && before.length === 0 ? ['help'] : []
    return begun([...nextWords(verbs, found.words).keys(), ...top], partial)
  }
  if (found.type === 'unknown' || helped) return []
  const verb = await verbs[found.name]?.load()
  if (verb === undefined) return []
  const flags = Object.entries(verb.flags)
  const [, dashes = '-', name = ''] = /^(--?)([\w-]*)$/.exec(found.rest.at(-1) ?? '') ?? []
  const previous = dashes === '' ? undefined : verb.flags[name]
  if (previous !== undefined && previous.value !== null) return []
  if (partial.startsWith('-')) {
    const style = partial.startsWith('--') ? '--' : '-'
    return begun(
      flags.map(([flag]) => `${style}${flag}`),
      partial,
    )
  }
  return begun(found.rest.length === 0 ? choicesOf(verb.operands.usage) : [], partial)
}

/** `bash|zsh|fish` are the only three things to say. */
function choicesOf(usage: string): readonly string[] {
  return /^[a-z]+(\|[a-z]+)+$/.test(usage) ? usage.split('|') : []
}

function begun(words: readonly string[], partial: string): readonly string[] {
  return words.filter((word) => word.startsWith(partial)).sort()
}
