/**
 * The regular expressions in the filters of queries. Any member of the pool may send them, and each member runs
 * them on its event loop, so the work of one is bounded, not only linear.
 */
import { MusterError } from '../lib/errors.ts'
import { memberPattern } from '../lib/regex/member-pattern.ts'

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
