/**
 * The regular expressions in the filters of queries. Any member of the pool may send them, and each member runs
 * them on its event loop, so the work of one is bounded, not only linear.
 */
import { MusterError } from '../lib/errors.ts'
import { LruMap } from '../lib/lru-map.ts'
import { compilePattern, type Pattern } from '../lib/regex/pattern.ts'

/** A packet may bring thousands of patterns, and one of 5,000 states takes a millisecond to compile alone. Names and tags need less. */
export const patternStatesMax = 250

/** Of one kind each, the last ones: the same query comes by several members. */
const recent = new LruMap<string, Pattern>(64)

/** Throws `invalid_argument` for one that RE2 or the bound refuses. */
export function memberPattern(source: string): Pattern {
  const known = recent.get(source)
  if (known !== undefined) return known
  const pattern = compilePattern(source, patternStatesMax)
  recent.set(source, pattern)
  return pattern
}

/** States of the pattern times characters of the text: about a millisecond. */
export const patternWorkMax = 100_000

/** Whether the pattern matches anywhere in the text. Throws `invalid_argument` for one that RE2 or the bound refuses. */
export function matchesPattern(pattern: string, text: string): boolean {
  const compiled = memberPattern(pattern)
  const { steps } = compiled
  // One more position than characters: the end of the text.
  if (steps * (text.length + 1) <= patternWorkMax) return compiled.test(text)
  throw new MusterError(
    'invalid_argument',
    `a pattern of ${steps} states is too much work for a text of ${text.length} characters`,
  )
}
