/** The envelope of compressed bytes: a map of the algorithm's number and the bytes. LZW is the only algorithm. */
import { Fields } from './fields.ts'
import { kind } from './kinds.ts'
import { compress, decompress } from './lzw.ts'
import { isMap, type ReadBounds, type Value } from './msgpack.ts'
import { Writer } from './msgpack-writer.ts'

const lzw = 0
/** Below this the envelope alone eats what compression saves. */
const plainBytesMin = 64

/** Two fields, and room for some of later versions. */
export function compressedBounds(bytesMax: number): ReadBounds {
  return { valuesMax: 16, stringBytesMax: bytesMax }
}

/** With its byte of kind; the plain bytes themselves when those are no longer. */
export function deflated(plain: Uint8Array): Uint8Array {
  if (plain.length < plainBytesMin) return plain
  const writer = new Writer().byte(kind.compressed).map(2)
  writer.text('Algo').unsigned(lzw)
  writer.text('Buf').raw(compress(plain))
  return writer.length < plain.length ? writer.finish() : plain
}

/** From the envelope's map. */
export function inflated(envelope: Value, bytesMax: number): Uint8Array | 'too-large' | null {
  if (!isMap(envelope)) return null
  const fields = new Fields(envelope)
  const algorithm = fields.unsigned('Algo', 255)
  const bytes = envelope.get('Buf')
  if (!fields.valid || algorithm !== lzw || !(bytes instanceof Uint8Array)) return null
  return decompress(bytes, bytesMax)
}
