/** Parameters and fields that are one word of a list. */
import { MusterError } from '../lib/errors.ts'

/** Throws `invalid_argument` for any other. */
export function oneOf<Word extends string>(
  name: string,
  given: string,
  words: readonly Word[],
): Word {
  const word = words.find((known) => known === given)
  if (word !== undefined) return word
  throw new MusterError('invalid_argument', `${name} must be one of ${words.join(', ')}`)
}
