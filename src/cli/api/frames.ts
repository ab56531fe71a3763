/** A log as it comes in frames: JSON objects one after the other, each with some bytes of the text, or with none. */
import { MusterError } from '../../lib/errors.ts'
import { objectOf, textOf } from './answer.ts'
import { parseJson } from '../../lib/exact-json.ts'

/** Servers send a kilobyte of text in each. */
const frameLengthMax = 64 * 1024

/** The bytes of each frame; none for one that only says that the other side is there. */
export async function* bytesOfFrames(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const frame of framesIn(body)) {
    const object = objectOf(parseJson(frame, 'a frame of the log'))
    const data = Object.hasOwn(object, 'Data') ? textOf(object, 'Data') : ''
    yield Buffer.from(data, 'base64')
  }
}

/** As `bytesOfFrames`, as text. Letters that two frames share come whole. */
export async function* textOfFrames(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<string, void, void> {
  const whole = new TextDecoder()
  for await (const bytes of bytesOfFrames(body)) yield whole.decode(bytes, { stream: true })
  const rest = whole.decode()
  if (rest !== '') yield rest
}

/** Cut where the outermost brace closes, as no byte between two objects tells where that is. */
async function* framesIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder()
  let frame = ''
  let depth = 0
  let inText = false
  let escaped = false
  for await (const chunk of body) {
    for (const letter of decoder.decode(chunk, { stream: true })) {
      if (depth === 0 && letter !== '{') {
        if (letter.trim() === '') continue
        throw strange()
      }
      frame += letter
      if (frame.length > frameLengthMax) throw strange()
      if (escaped) escaped = false
      else if (letter === '"') inText = !inText
      else if (inText) escaped = letter === '\\'
      else if (letter === '{') depth += 1
      else if (letter === '}') depth -= 1
      if (depth > 0) continue
      yield frame
      frame = ''
    }
  }
  if (frame !== '') throw new MusterError('unavailable', 'the log broke off in the middle')
}

function strange(): MusterError {
  return new MusterError(
    'incompatible',
    'the answer is not a log of a Muster agent; does -address name one?',
  )
}
