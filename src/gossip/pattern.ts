/** Regular expressions of strangers, in time linear in the text: V8's experimental engine, which refuses all others. */
import { setFlagsFromString } from 'node:v8'

const engine = '--enable-experimental-regexp-engine'
/** The letter that asks for the engine. */
const linear = 'l'

/** Whether the pattern matches anywhere in the text. Throws SyntaxError for one that cannot be run in linear time. */
export function matchesPattern(pattern: string, text: string): boolean {
  // Without the option, which may be set again and again, the letter is not known.
  setFlagsFromString(engine)
  return new RegExp(pattern, linear).test(text)
}
