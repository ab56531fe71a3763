/** A secret typed on a terminal: nothing of it is shown. */
import type { ReadStream } from 'node:tty'
import { MusterError } from '../lib/errors.ts'

const secretLengthMax = 4_096

/** Up to the end of the line. Rejects when the user presses Ctrl-C or Ctrl-D instead. */
export async function readSecret(input: ReadStream): Promise<string> {
  input.setRawMode(true)
  try {
    const letters: string[] = []
    for await (const chunk of input.iterator({ destroyOnReturn: false })) {
      for (const letter of String(chunk)) {
        if (letter === '\r' || letter === '\n') return letters.join('')
        if (letter === '\u0003' || letter === '\u0004')
          throw new MusterError('cancelled', 'nothing was typed')
        if (letter === '\u007f' || letter === '\b') letters.pop()
        else if (letters.length < secretLengthMax) letters.push(letter)
      }
    }
    return letters.join('')
  } finally {
    input.setRawMode(false)
    input.pause()
  }
}
