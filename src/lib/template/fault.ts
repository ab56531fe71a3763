/** What is wrong with a template, told with its line. No text that a template works on is in it: that may be a secret. */
import { MusterError } from '../errors.ts'

class TemplateFault extends Error {}

export function refuse(text: string): never {
  throw new TemplateFault(text)
}

/** `what` begins the error: "the template". */
export function toldAt<Result>(what: string, lineOf: () => number, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    const text = error instanceof RangeError ? 'it nests too deeply' : null
    if (text === null && !(error instanceof TemplateFault)) throw error
    const message = text ?? (error instanceof TemplateFault ? error.message : '')
    throw new MusterError('invalid_argument', `${what}: line ${lineOf()}: ${message}`)
  }
}
