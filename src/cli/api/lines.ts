/** An answer that comes line by line, for as long as it comes. */
import { MusterError } from '../../lib/errors.ts'

/** Servers send in one line what one log entry changed, and bound what they keep of it. */
const lineLengthMax = 256 * 1024 * 1024

/** Lines without their ends; empty ones are left out. Rejects with `unavailable` when the last one has no end. */
export async function* linesOf(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder()
  /** Of a line that is not whole yet. */
  let parts: string[] = []
  let length = 0
  for await (const chunk of body) {
    const [first = '', ...more] = decoder.decode(chunk, { stream: true }).split('\n')
    parts.push(first)
    length += first.length
    if (length > lineLengthMax) {
      throw new MusterError('too_large', `a line of the answer is longer than ${lineLengthMax}`)
    }
    for (const next of more) {
      const line = parts.join('')
      parts = [next]
      length = next.length
      if (line.trim() !== '') yield line
    }
  }
  if (parts.join('').trim() !== '') {
    throw new MusterError('unavailable', 'the answer broke off in the middle')
  }
}
